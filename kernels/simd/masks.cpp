// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks: sums of prototypes, for all boxes of a row before the next row, which stays in the cache.
#include "kernels/simd/backend.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/masks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "core/formula/mask.h"
#include "core/reference/backend.h"
#include "core/run/payload.h"
#include "kernels/simd/scores.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Returns a bit per lane, the first lane in the lowest bit. @pre at most 32 lanes.
template <class D, class M>
HWY_INLINE uint32_t MaskBits(D d, M mask) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  uint32_t out = 0;
  for (uint32_t i = 0; i < 4; ++i) out |= uint32_t{bytes[i]} << 8 * i;
  return out;
}

using Floats = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Floats>;

/// Number of values in a tile: some columns of a row of all prototypes, copied together because
/// prototypes at a power-of-two distance evict each other from the cache.
constexpr size_t kTileValues = 5120;
struct alignas(64) Tile {
  float values[kTileValues];
  size_t width = 0;  // columns per prototype

  /// @param from the first prototype's value in the first column. @param stride to the next
  /// prototype.
  void fill(const float* from, size_t stride, size_t count) {
    for (size_t c = 0; c < count; ++c) std::copy_n(from + c * stride, width, values + c * width);
  }
};

/// Columns of a tile that belong to a box, and its coefficients.
struct Row {
  const float* first;  // of the first prototype
  size_t stride;       // to the next prototype
  std::span<const float> factors;
};

/// Output of the sums of a row.
struct Out {
  float* sums;
  uint32_t* bits;  // the word of bit 0; all bits are 0 before
  size_t first;    // bit of the first column
};

/// Sets up to 16 bits of a row from bit `at`.
HWY_INLINE void SetBits(uint32_t* row, size_t at, uint32_t bits) {
  const size_t shift = at % kWordPixels;
  uint32_t* word = row + at / kWordPixels;
  word[0] |= bits << shift;
  if (const uint32_t rest = static_cast<uint32_t>(uint64_t{bits} << shift >> 32); rest != 0)
    word[1] |= rest;
}

/// @tparam kPart true to write only the first `count` values.
template <bool kPart>
HWY_INLINE void Store(const Out& out, Vector sum, size_t at, size_t count) {
  const Floats d;
  if (out.sums != nullptr) {
    if constexpr (kPart) hn::StoreN(sum, d, out.sums + at, count);
    else hn::StoreU(sum, d, out.sums + at);
    return;
  }
  auto positive = hn::Gt(sum, hn::Zero(d));
  if constexpr (kPart) positive = hn::And(positive, hn::FirstN(d, count));
  SetBits(out.bits, out.first + at, MaskBits(d, positive));
}

/// Loads a vector. @tparam kPart true to read only the first `count` values.
template <bool kPart>
HWY_INLINE Vector Load(const float* at, size_t count) {
  const Floats d;
  if constexpr (kPart) return hn::LoadN(d, at, count);
  else return hn::LoadU(d, at);
}

/// Sums columns from `x`, or `count` columns of one vector. @param sums zeros, one per vector; they
/// are parameters because vectors of SVE cannot be in an array, and stay in registers.
template <bool kPart, class... Vectors>
HWY_INLINE void SumColumns(const Row& row, size_t x, const Out& out, size_t count,
                           Vectors... sums) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  const float* of_factor = row.first + x;
  for (const float factor : row.factors) {
    const auto by = hn::Set(d, factor);
    const float* at = of_factor;
    ((sums = hn::Add(sums, hn::Mul(by, Load<kPart>(at, count))), at += lanes), ...);
    of_factor += row.stride;
  }
  ((Store<kPart>(out, sums, x, count), x += lanes), ...);
}

void SumProducts(const Row& row, size_t width, const Out& out) {
  const auto z = hn::Zero(Floats());
  const size_t lanes = hn::Lanes(Floats());
  size_t x = 0;
  for (; x + 8 * lanes <= width; x += 8 * lanes)
    SumColumns<false>(row, x, out, lanes, z, z, z, z, z, z, z, z);
  for (; x + 4 * lanes <= width; x += 4 * lanes) SumColumns<false>(row, x, out, lanes, z, z, z, z);
  for (; x + 2 * lanes <= width; x += 2 * lanes) SumColumns<false>(row, x, out, lanes, z, z);
  for (; x + lanes <= width; x += lanes) SumColumns<false>(row, x, out, lanes, z);
  if (x < width) SumColumns<true>(row, x, out, width - x, z);
}

/// Sums the part of a rectangle in a tile's columns of one row.
void SumPart(const Tile& tile, uint32_t left, uint32_t y, const MaskRect& place,
             std::span<const float> factors, const MaskOutput& out) {
  const uint32_t first = std::max(left, place.x);
  const uint32_t end = std::min(left + static_cast<uint32_t>(tile.width), place.x + place.width);
  if (y < place.y || y >= place.y + place.height || first >= end) return;
  const size_t row = y - place.y, column = first - place.x;
  Out to{};
  if (out.sums != nullptr) to.sums = out.sums + place.offset + row * place.width + column;
  else
    to = {nullptr, out.bits + place.offset + row * place.words(), place.x % kWordPixels + column};
  SumProducts({tile.values + (first - left), tile.width, factors}, end - first, to);
}

/// @param maps the image's prototypes. @pre at most kMaxFactors.
void Masks(const float* maps, Size size, std::span<const float> factors,
           std::span<const MaskRect> places, const MaskOutput& out) {
  if (places.empty()) return;
  for (const MaskRect& place : places)
    if (out.bits != nullptr)
      std::fill_n(out.bits + place.offset, size_t{place.words()} * place.height, 0u);
  const size_t each = factors.size() / places.size(), max_columns = kTileValues / each;
  Tile tile;
  for (uint32_t y = 0; y < size.height; ++y)
    for (uint32_t left = 0; left < size.width; left += static_cast<uint32_t>(max_columns)) {
      tile.width = std::min<size_t>(max_columns, size.width - left);
      const auto overlaps_tile = [&](const MaskRect& place) {
        return y >= place.y && y < place.y + place.height && left < place.x + place.width &&
               place.x < left + tile.width;
      };
      if (std::ranges::none_of(places, overlaps_tile)) continue;
      tile.fill(maps + size_t{y} * size.width + left, size_t{size.width} * size.height, each);
      for (size_t i = 0; i < places.size(); ++i)
        SumPart(tile, left, y, places[i], factors.subspan(i * each, each), out);
    }
}

// Enlarges masks: a row of sums is interpolated once, and then read by up to 16 pixels at once.

using Ints = hn::RebindToSigned<Floats>;

/// Pixels of a block along an axis, and sums of a row that a block may need.
constexpr uint32_t kBlock = 512, kMaxSums = 1024;

/// Interpolation of a block's pixels along an axis.
struct Taps {
  HWY_ALIGN int32_t low[kBlock], high[kBlock];  // from the rectangle's first sum
  HWY_ALIGN float weight[kBlock];

  /// @param pixel the first one. @param count of a block, rounded up to vectors.
  void fill(const MaskAxis& axis, uint32_t pixel, uint32_t count, uint32_t first, uint32_t sums) {
    const Floats d;
    const Ints di;
    const auto half = hn::Set(d, 0.5f);
    const auto own = [&](hn::Vec<Ints> sum) {
      const auto from = hn::Set(di, static_cast<int32_t>(first));
      const auto last = hn::Set(di, static_cast<int32_t>(first + sums - 1));
      return hn::Sub(hn::Min(hn::Max(sum, from), last), from);
    };
    for (uint32_t i = 0; i < count; i += static_cast<uint32_t>(hn::Lanes(d))) {
      const auto pixels = hn::Iota(di, static_cast<int32_t>(pixel + i));
      const auto centre = hn::Add(hn::ConvertTo(d, pixels), half);
      const auto model = hn::Add(hn::Div(centre, hn::Set(d, axis.scale)), hn::Set(d, axis.pad));
      const auto at = hn::Sub(hn::Mul(model, hn::Set(d, axis.per_model)), half);
      const auto end = hn::Set(d, static_cast<float>(axis.end - 1));
      const auto inside = hn::Min(hn::Max(at, hn::Zero(d)), end);
      const auto floor = hn::ConvertTo(di, inside);
      hn::Store(own(floor), di, low + i);
      hn::Store(own(hn::Add(floor, hn::Set(di, 1))), di, high + i);
      hn::Store(hn::Sub(inside, hn::ConvertTo(d, floor)), d, weight + i);
    }
  }
};

HWY_INLINE hn::Vec<Floats> Lerp(hn::Vec<Floats> low, hn::Vec<Floats> high, hn::Vec<Floats> weight) {
  return hn::Add(low, hn::Mul(hn::Sub(high, low), weight));
}

/// A row of sums between two rows of the prototypes.
struct SumRow {
  // A vector may be read from any sum, hence one vector more.
  HWY_ALIGN float sums[kMaxSums + 16];

  void interpolate(const float* upper, const float* lower, float weight, uint32_t count) {
    const Floats d;
    const auto by = hn::Set(d, weight);
    uint32_t i = 0;
    const auto lanes = static_cast<uint32_t>(hn::Lanes(d));
    for (; i + lanes <= count; i += lanes)
      hn::Store(Lerp(hn::LoadU(d, upper + i), hn::LoadU(d, lower + i), by), d, sums + i);
    for (; i < count; ++i) sums[i] = lerp(upper[i], lower[i], weight);
  }
};

/// Reads the sums of a vector's pixels from one vector of sums, which is faster than gathering.
struct TableRead {
  /// @param first the first sum of the vector, from which indices count.
  HWY_INLINE static hn::Vec<Floats> read(const SumRow& row, int32_t first, hn::Vec<Ints> index) {
    const Floats d;
    return hn::TableLookupLanes(hn::LoadU(d, row.sums + first), hn::IndicesFromVec(d, index));
  }
};
struct GatherRead {
  HWY_INLINE static hn::Vec<Floats> read(const SumRow& row, int32_t, hn::Vec<Ints> index) {
    return hn::GatherIndex(Floats(), row.sums, index);
  }
};

/// Columns of a block in a mask.
struct Columns {
  uint32_t word, words;            // of each row
  uint32_t first_bits, last_bits;  // bits inside the rectangle, in the first and last word
  int32_t first_sum, sums;         // that the block reads
  bool in_one_vector;  // true if each vector of pixels reads sums of one vector, from which they
                       // count
  Taps taps;
  int32_t first[kBlock];  // per vector, its first sum

  /// @param begin first word of the block, from the rectangle's first word.
  void fill(const MaskAxis& axis, const MaskRect& from, const MaskRect& place, uint32_t begin) {
    word = begin;
    words = std::min(place.words() - begin, kBlock / kWordPixels);
    const uint32_t pixel = (place.first_word() + begin) * kWordPixels;
    const uint32_t end = pixel + words * kWordPixels, last = place.x + place.width;
    first_bits = ~0u << (place.x > pixel ? place.x - pixel : 0);
    last_bits = ~0u >> (end > last ? end - last : 0);
    taps.fill(axis, pixel, words * kWordPixels, from.x, from.width);
    first_sum = taps.low[0];
    sums = taps.high[words * kWordPixels - 1] + 1 - first_sum;
    count_from_first();
  }

  /// Counts sums from the first of the block or of each vector.
  void count_from_first() {
    const auto lanes = static_cast<uint32_t>(hn::Lanes(Floats()));
    in_one_vector = true;
    for (uint32_t i = 0; i < words * kWordPixels; i += lanes)
      in_one_vector =
          in_one_vector && taps.high[i + lanes - 1] - taps.low[i] < static_cast<int32_t>(lanes);
    for (uint32_t i = 0; i < words * kWordPixels; i += lanes) {
      const int32_t from = in_one_vector ? taps.low[i] : first_sum;
      first[i / lanes] = from - first_sum;
      for (uint32_t k = i; k < i + lanes; ++k) taps.low[k] -= from, taps.high[k] -= from;
    }
  }

  /// Interpolates the 32 pixels of a word.
  template <class Read>
  HWY_INLINE uint32_t pixels(const SumRow& row, uint32_t of) const {
    const Floats d;
    const Ints di;
    uint32_t out = 0;
    const auto lanes = static_cast<uint32_t>(hn::Lanes(d));
    for (uint32_t at = 0; at < kWordPixels; at += lanes) {
      const uint32_t i = of * kWordPixels + at;
      const auto left = Read::read(row, first[i / lanes], hn::Load(di, taps.low + i));
      const auto right = Read::read(row, first[i / lanes], hn::Load(di, taps.high + i));
      const auto sum = Lerp(left, right, hn::Load(d, taps.weight + i));
      out |= MaskBits(d, hn::Gt(sum, hn::Zero(d))) << at;
    }
    return out;
  }

  template <class Read>
  HWY_INLINE void write(const SumRow& row, uint32_t* out) const {
    for (uint32_t i = 0; i < words; ++i) out[i] = pixels<Read>(row, i);
    out[0] &= first_bits;
    out[words - 1] &= last_bits;
  }
};

/// A mask to enlarge.
struct Job {
  const MaskAxis& columns;
  const MaskAxis& rows;
  const MaskRect& from;
  const float* sums;
  const MaskRect& place;
  uint32_t* bits;
};

template <class Read>
void EnlargeRows(const Job& job, const Columns& columns, const Taps& rows, uint32_t first,
                 uint32_t count) {
  SumRow row;
  const float* const sums = job.sums + columns.first_sum;
  for (uint32_t y = 0; y < count; ++y) {
    row.interpolate(sums + size_t(rows.low[y]) * job.from.width,
                    sums + size_t(rows.high[y]) * job.from.width, rows.weight[y],
                    static_cast<uint32_t>(columns.sums));
    columns.write<Read>(row, job.bits + size_t{first + y} * job.place.words() + columns.word);
  }
}

/// Enlarges a mask block by block. Returns false if a block needs more sums than fit.
bool EnlargeMask(const Job& job) {
  Columns columns;
  Taps rows;
  for (uint32_t word = 0; word < job.place.words(); word += columns.words) {
    columns.fill(job.columns, job.from, job.place, word);
    if (columns.sums > static_cast<int32_t>(kMaxSums)) return false;
    for (uint32_t y = 0; y < job.place.height; y += kBlock) {
      const uint32_t count = std::min(job.place.height - y, kBlock);
      const auto lanes = static_cast<uint32_t>(hn::Lanes(Floats()));
      rows.fill(job.rows, job.place.y + y, (count + lanes - 1) / lanes * lanes, job.from.y,
                job.from.height);
      if (columns.in_one_vector) EnlargeRows<TableRead>(job, columns, rows, y, count);
      else EnlargeRows<GatherRead>(job, columns, rows, y, count);
    }
  }
  return true;
}

/// @return the number of masks done; the next one needs more sums than fit.
size_t Enlarge(const MaskAxis& columns, const MaskAxis& rows, const MaskRects& places,
               const float* sums, uint32_t* bits, size_t done) {
  for (; done < places.bits.size(); ++done) {
    const MaskRect &from = places.sums[done], &place = places.bits[done];
    if (!EnlargeMask({columns, rows, from, sums + from.offset, place, bits + place.offset}))
      return done;
  }
  return done;
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {
namespace {

constexpr uint32_t kMaxFactors = 128;  // a tile has space for a few columns of that many

}  // namespace

HWY_EXPORT(Masks);

void masks(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
           std::span<const float> factors, std::span<const MaskRect> places,
           const MaskOutput& out) {
  const Field& field = plan.layout.segments.front()[FieldId::kPrototypes];
  const TensorView& view = tensors[static_cast<size_t>(field.tensor)];
  if (view.type != DataType::kFloat32 || !plain(view) || field.anchor_stride != 1 ||
      plan.payload.masks.coefficients > kMaxFactors)
    return reference::masks(plan, tensors, image, factors, places, out);
  HWY_DYNAMIC_DISPATCH(Masks)
  (static_cast<const float*>(view.data) + field.at(image, 0), plan.payload.masks.maps, factors,
   places, out);
}

HWY_EXPORT(Enlarge);

void enlarge(const Plan& plan, uint32_t image, const MaskRects& places, const float* sums,
             uint32_t* bits) {
  const MaskAxis columns = mask_columns(plan, image), rows = mask_rows(plan, image);
  const size_t count = places.bits.size();
  size_t done = 0;
  while (done < count) {
    done = HWY_DYNAMIC_DISPATCH(Enlarge)(columns, rows, places, sums, bits, done);
    if (done == count) break;
    reference::enlarge(columns, rows, places.sums[done], sums, places.bits[done], bits);
    ++done;
  }
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
