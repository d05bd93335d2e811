// SPDX-License-Identifier: LGPL-2.1-or-later
// The payload of kept boxes, value by value.
#include "core/formula/mask.h"
#include "core/formula/model_point.h"
#include "core/reference/source.h"

namespace keepbox::reference {
namespace {

/// Returns the segment of an anchor.
const Segment& segment_of(const Layout& layout, uint32_t anchor) {
  const auto after = std::ranges::upper_bound(layout.segments, anchor, {}, &Segment::first);
  return *std::prev(after);
}

void make_mask(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
               std::span<const float> factors, const MaskPlace& place, const MaskOutput& out) {
  const Segment& segment = plan.layout.segments.front();
  const TensorView& maps = tensors[static_cast<size_t>(segment[FieldId::kPrototypes].tensor)];
  size_t at = place.offset;
  for (uint32_t y = place.y; y < place.y + place.height; ++y)
    for (uint32_t x = place.x; x < place.x + place.width; ++x, ++at) {
      const uint32_t pixel = y * plan.payload.masks.maps.width + x;
      float sum = 0;
      for (uint32_t i = 0; i < factors.size(); ++i)
        sum = sum + factors[i] * load(maps, segment[FieldId::kPrototypes].at(image, pixel, i));
      if (out.numbers != nullptr) out.numbers[at] = sum;
      else out.inside[at] = sum > 0 ? 1 : 0;
    }
}

}  // namespace

void payload(const Plan& plan, std::span<const TensorView> tensors, uint32_t image, uint32_t anchor,
             std::span<float> out) {
  const Source from(plan, segment_of(plan.layout, anchor), tensors, image);
  if (plan.payload.kind.moves != Moves::kAsPoints) {
    for (uint32_t i = 0; i < out.size(); ++i) out[i] = from.get(FieldId::kPayload, anchor, i);
    return;
  }
  for (uint32_t i = 0; i < plan.payload.points.count; ++i) {
    const Keypoint point = model_point(from, plan.payload.points, anchor, i);
    float* const at = out.data() + size_t{i} * kPointValues;
    at[0] = point.x, at[1] = point.y, at[2] = point.score;
  }
}

void masks(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
           std::span<const float> factors, std::span<const MaskPlace> places,
           const MaskOutput& out) {
  const size_t each = plan.payload.masks.coefficients;
  for (size_t i = 0; i < places.size(); ++i)
    make_mask(plan, tensors, image, factors.subspan(i * each, each), places[i], out);
}

}  // namespace keepbox::reference
