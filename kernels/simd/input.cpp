// SPDX-License-Identifier: LGPL-2.1-or-later
// Model inputs: each source row is resampled once, to floats; an input row blends two of them per
// component.
#include "kernels/simd/backend.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/input.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/simd/input_rows.h"
#include "kernels/simd/numeric-inl.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

using Floats = hn::ScalableTag<float>;
using Words = hn::RebindToSigned<Floats>;
using Bytes = hn::Rebind<uint8_t, Floats>;
using V = hn::Vec<Floats>;

HWY_INLINE V FromBytes(hn::Vec<Bytes> bytes) {
  return hn::ConvertTo(Floats(), hn::PromoteTo(Words(), bytes));
}

/// Returns the byte at bit `shift` of each word.
HWY_INLINE V FromWords(hn::Vec<Words> words, int shift) {
  const Words d;
  return hn::ConvertTo(Floats(), hn::And(hn::ShiftRightSame(words, shift), hn::Set(d, 255)));
}

/// Copies adjacent samples.
size_t CopyRow(const SampleGroup& group, const uint8_t* row, const RowBuffers& rows_out) {
  const Bytes d;
  const size_t lanes = hn::Lanes(d), step = group.step;
  size_t x = 0;
  for (; x + lanes <= group.columns.size() && (x + lanes) * step <= group.bytes; x += lanes) {
    const uint8_t* const from = row + x * step;
    auto b0 = hn::Zero(d), b1 = hn::Zero(d), b2 = hn::Zero(d), b3 = hn::Zero(d);
    if (step == 1) b0 = hn::LoadU(d, from);
    else if (step == 2) hn::LoadInterleaved2(d, from, b0, b1);
    else if (step == 3) hn::LoadInterleaved3(d, from, b0, b1, b2);
    else hn::LoadInterleaved4(d, from, b0, b1, b2, b3);
    for (size_t i = 0; i < group.count; ++i) {
      const auto at = group.at[i];
      const auto bytes = at == 0 ? b0 : at == 1 ? b1 : at == 2 ? b2 : b3;
      hn::StoreU(FromBytes(bytes), Floats(), rows_out[i] + x);
    }
  }
  return x;
}

/// Reads words of four bytes with the samples of all components, and with `kOne` the next ones too.
template <bool kOne, bool kBlend>
size_t GatherRow(const SampleGroup& group, const uint8_t* row, const RowBuffers& rows_out) {
  const Floats d;
  const Words di;
  const size_t lanes = hn::Lanes(d);
  const auto* base = reinterpret_cast<const int32_t*>(row);  // unaligned
  size_t x = 0;
  for (; x + lanes <= group.word_columns; x += lanes) {
    const auto first = hn::GatherOffset(di, base, hn::LoadU(di, group.first.data() + x));
    auto next = first;
    if (kBlend && !kOne) next = hn::GatherOffset(di, base, hn::LoadU(di, group.next.data() + x));
    const auto weight = hn::LoadU(d, group.weight.data() + x);
    for (size_t i = 0; i < group.count; ++i) {
      const int shift = 8 * group.at[i];
      auto value = FromWords(first, shift);
      if (kBlend) {
        const auto right = FromWords(next, kOne ? shift + 8 * int{group.step} : shift);
        value = hn::Add(value, hn::Mul(hn::Sub(right, value), weight));
      }
      hn::StoreU(value, d, rows_out[i] + x);
    }
  }
  return x;
}

/// Resamples a row to the columns of the picture's rectangle.
void ResampleRow(const SampleGroup& group, const uint8_t* row, const RowBuffers& rows_out) {
  size_t x = 0;
  if (group.plain) x = CopyRow(group, row, rows_out);
  else if (group.exact) x = GatherRow<true, false>(group, row, rows_out);
  else if (group.one_word) x = GatherRow<true, true>(group, row, rows_out);
  else x = GatherRow<false, true>(group, row, rows_out);
  for (; x < group.columns.size(); ++x)
    for (size_t i = 0; i < group.count; ++i) {
      const Tap& tap = group.columns[x];
      const uint8_t* const from = row + group.at[i];
      rows_out[i][x] = blend(from[tap.first * group.step], from[tap.next * group.step], tap.weight);
    }
}

HWY_INLINE V Clamped(V value) {
  const Floats d;
  return hn::Min(hn::Max(value, hn::Zero(d)), hn::Set(d, 255.0f));
}

/// Computes store_value() for vectors.
HWY_INLINE hn::Vec<Floats> InType(V values, float) { return values; }
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, Floats>> InType(V values, uint16_t) {
  const hn::Rebind<hwy::float16_t, Floats> half;
  return hn::BitCast(hn::Rebind<uint16_t, Floats>(), hn::DemoteTo(half, values));
}
HWY_INLINE hn::Vec<Bytes> InType(V values, uint8_t) {
  const auto rounded = hn::Add(Clamped(values), hn::Set(Floats(), 0.5f));
  return hn::DemoteTo(Bytes(), hn::ConvertTo(Words(), rounded));
}

/// Computes the last step of sample().
HWY_INLINE V Blended(const Mix& mix, size_t component, size_t x) {
  const Floats d;
  const auto top = hn::LoadU(d, mix.top[component] + x);
  if (mix.weight[component] == 0) return top;  // the other row has no weight
  const auto bottom = hn::LoadU(d, mix.bottom[component] + x);
  return hn::Add(top, hn::Mul(hn::Sub(bottom, top), hn::Set(d, mix.weight[component])));
}

/// Computes colour() for vectors.
HWY_INLINE V Coloured(const float (&row)[4], V c0, V c1, V c2) {
  const Floats d;
  const auto two = hn::Add(hn::Mul(hn::Set(d, row[0]), c0), hn::Mul(hn::Set(d, row[1]), c1));
  const auto three = hn::Add(two, hn::Mul(hn::Set(d, row[2]), c2));
  return Clamped(hn::Add(three, hn::Set(d, row[3])));
}

/// Computes luma() for vectors.
HWY_INLINE V Luma(V r, V g, V b) {
  const Floats d;
  const auto two = hn::Add(hn::Mul(hn::Set(d, 0.299f), r), hn::Mul(hn::Set(d, 0.587f), g));
  return hn::Add(two, hn::Mul(hn::Set(d, 0.114f), b));
}

/// Computes a vector of pixels from column x.
template <class T>
HWY_INLINE void MixPixels(const PixelRules& rules, const Mix& mix, size_t x, T* to) {
  const Floats d;
  const hn::Rebind<T, Floats> dt;
  auto c0 = Blended(mix, mix.source[0], x), c1 = Blended(mix, mix.source[1], x),
       c2 = Blended(mix, mix.source[2], x);
  if (mix.is_identity) {
    c0 = Clamped(c0);
    c1 = Clamped(c1);
    c2 = Clamped(c2);
  } else {
    const auto r = Coloured(rules.matrix[0], c0, c1, c2), g = Coloured(rules.matrix[1], c0, c1, c2);
    c2 = Coloured(rules.matrix[2], c0, c1, c2);
    c0 = r;
    c1 = g;
  }
  const auto number = [&](auto colour, size_t i) HWY_ATTR {
    const auto centred = hn::Sub(colour, hn::Set(d, rules.mean[i]));
    return InType(hn::Div(centred, hn::Set(d, rules.deviation[i])), T());
  };
  T* const at = to + x * rules.pixel_step;
  if (rules.channels == 1) return hn::StoreU(number(Luma(c0, c1, c2), 0), dt, at);
  if (rules.pixel_step == 3)
    return hn::StoreInterleaved3(number(c0, 0), number(c1, 1), number(c2, 2), dt, at);
  hn::StoreU(number(c0, 0), dt, at);
  hn::StoreU(number(c1, 1), dt, at + rules.channel_step);
  hn::StoreU(number(c2, 2), dt, at + 2 * rules.channel_step);
}

template <class T>
void MixAs(const PixelRules& rules, const Mix& mix, T* to) {
  const size_t lanes = hn::Lanes(Floats());
  size_t x = 0;
  for (; x + lanes <= mix.width; x += lanes) MixPixels(rules, mix, x, to);
  if (x == mix.width) return;
  // The last vector overlaps the previous one.
  if (lanes <= mix.width) return MixPixels(rules, mix, mix.width - lanes, to);
  for (; x < mix.width; ++x) {
    float component[3], values[3];
    for (size_t i = 0; i < 3; ++i) {
      component[i] = mix.top[i][x];
      if (mix.weight[i] != 0) component[i] = blend(component[i], mix.bottom[i][x], mix.weight[i]);
    }
    to_channels(rules, component[0], component[1], component[2], values);
    for (size_t i = 0; i < rules.channels; ++i)
      store_value(to + x * rules.pixel_step + i * rules.channel_step, values[i]);
  }
}

/// Computes a row of the rectangle. @param to its first pixel.
void MixRow(const PixelRules& rules, const Mix& mix, void* to) {
  with_input_type(rules.type,
                  [&](auto type) { MixAs(rules, mix, static_cast<decltype(type)*>(to)); });
}

template <class T>
void FillAs(const PixelRules& rules, size_t count, T* to) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  T number[3];
  for (size_t i = 0; i < rules.channels; ++i) store_value(&number[i], rules.padding[i]);
  if (rules.pixel_step == 1) {
    for (size_t i = 0; i < rules.channels; ++i) {
      T* const plane = to + i * rules.channel_step;
      size_t x = 0;
      for (; x + lanes <= count; x += lanes) hn::StoreU(hn::Set(d, number[i]), d, plane + x);
      for (; x < count; ++x) plane[x] = number[i];
    }
    return;
  }
  const auto c0 = hn::Set(d, number[0]), c1 = hn::Set(d, number[1]), c2 = hn::Set(d, number[2]);
  size_t x = 0;
  for (; x + lanes <= count; x += lanes) hn::StoreInterleaved3(c0, c1, c2, d, to + 3 * x);
  for (x *= 3; x < 3 * count; ++x) to[x] = number[x % 3];
}

/// Fills `count` consecutive pixels with padding.
void FillPixels(const PixelRules& rules, size_t count, void* to) {
  with_input_type(rules.type,
                  [&](auto type) { FillAs(rules, count, static_cast<decltype(type)*>(to)); });
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {

HWY_EXPORT(ResampleRow);
HWY_EXPORT(MixRow);
HWY_EXPORT(FillPixels);

void resample_row(const SampleGroup& group, const uint8_t* row, const RowBuffers& rows_out) {
  HWY_DYNAMIC_DISPATCH(ResampleRow)(group, row, rows_out);
}
void mix_row(const PixelRules& rules, const Mix& mix, void* to) {
  HWY_DYNAMIC_DISPATCH(MixRow)(rules, mix, to);
}
void fill_pixels(const PixelRules& rules, size_t count, void* to) {
  HWY_DYNAMIC_DISPATCH(FillPixels)(rules, count, to);
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
