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
#include "kernels/simd/maskbits-inl.h"
#include "kernels/simd/scores.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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

void SumRow(const Row& row, size_t width, const Out& out) {
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
  SumRow({tile.values + (first - left), tile.width, factors}, end - first, to);
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

}  // namespace keepbox::simd
#endif  // HWY_ONCE
