// SPDX-License-Identifier: LGPL-2.1-or-later
// The payload of kept boxes, value by value.
#include <algorithm>

#include "core/formula/keypoint.h"
#include "core/formula/mask.h"
#include "core/reference/backend.h"
#include "core/run/payload.h"

namespace keepbox::reference {
namespace {

/// Returns the segment of an anchor.
const Segment& segment_of(const Layout& layout, uint32_t anchor) {
  const auto after = std::ranges::upper_bound(layout.segments, anchor, {}, &Segment::first);
  return *std::prev(after);
}

/// Writes the bits of a mask. @param pixels_of(y) returns a function of x that is true for the
/// object's pixels in that row.
void set_bits(const MaskRect& place, uint32_t* bits, const auto& pixels_of) {
  uint32_t* row = bits + place.offset;
  for (uint32_t y = place.y; y < place.y + place.height; ++y, row += place.words()) {
    std::fill_n(row, place.words(), 0u);
    const auto is_inside = pixels_of(y);
    for (uint32_t x = place.x; x < place.x + place.width; ++x)
      if (is_inside(x)) row[x / kWordPixels - place.first_word()] |= 1u << x % kWordPixels;
  }
}

void make_mask(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
               std::span<const float> factors, const MaskRect& place, const MaskOutput& out) {
  const Segment& segment = plan.layout.segments.front();
  const TensorView& maps = tensors[static_cast<size_t>(segment[FieldId::kPrototypes].tensor)];
  const auto sum_at = [&](uint32_t x, uint32_t y) {
    const uint32_t pixel = y * plan.payload.masks.maps.width + x;
    float sum = 0;
    for (uint32_t i = 0; i < factors.size(); ++i)
      sum = sum + factors[i] * load(maps, segment[FieldId::kPrototypes].at(image, pixel, i));
    return sum;
  };
  if (out.sums == nullptr)
    return set_bits(place, out.bits,
                    [&](uint32_t y) { return [&, y](uint32_t x) { return sum_at(x, y) > 0; }; });
  size_t at = place.offset;
  for (uint32_t y = place.y; y < place.y + place.height; ++y)
    for (uint32_t x = place.x; x < place.x + place.width; ++x) out.sums[at++] = sum_at(x, y);
}

}  // namespace

void payload(const Plan& plan, std::span<const TensorView> tensors, uint32_t image, uint32_t anchor,
             std::span<float> out) {
  const Values from(plan, segment_of(plan.layout, anchor), tensors, image);
  if (plan.payload.kind.moves != Moves::kAsPoints) {
    for (uint32_t i = 0; i < out.size(); ++i) out[i] = from.get(FieldId::kPayload, anchor, i);
    return;
  }
  for (uint32_t i = 0; i < plan.payload.keypoints.count; ++i) {
    const Keypoint point = model_point(from, plan.payload.keypoints, anchor, i);
    float* const at = out.data() + size_t{i} * kPointValues;
    at[0] = point.x, at[1] = point.y, at[2] = point.score;
  }
}

void masks(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
           std::span<const float> factors, std::span<const MaskRect> places,
           const MaskOutput& out) {
  const size_t each = plan.payload.masks.coefficients;
  for (size_t i = 0; i < places.size(); ++i)
    make_mask(plan, tensors, image, factors.subspan(i * each, each), places[i], out);
}

void enlarge(const MaskAxis& columns, const MaskAxis& rows, const MaskRect& from, const float* sums,
             const MaskRect& place, uint32_t* bits) {
  sums += from.offset;
  set_bits(place, bits, [&](uint32_t y) {
    const MaskTap row = tap_of(rows, y, from.y, from.height);
    const float* upper = sums + size_t{row.low} * from.width;
    const float* lower = sums + size_t{row.high} * from.width;
    return [=, &columns, &from](uint32_t x) {
      const MaskTap column = tap_of(columns, x, from.x, from.width);
      const float left = lerp(upper[column.low], lower[column.low], row.weight);
      const float right = lerp(upper[column.high], lower[column.high], row.weight);
      return lerp(left, right, column.weight) > 0;
    };
  });
}

void enlarge(const Plan& plan, uint32_t image, const MaskRects& places, const float* sums,
             uint32_t* bits) {
  const MaskAxis columns = mask_columns(plan, image), rows = mask_rows(plan, image);
  for (size_t i = 0; i < places.bits.size(); ++i)
    enlarge(columns, rows, places.sums[i], sums, places.bits[i], bits);
}

}  // namespace keepbox::reference
