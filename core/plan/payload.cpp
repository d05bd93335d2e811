// SPDX-License-Identifier: LGPL-2.1-or-later
// Settles the values per box and the prototypes of masks.
#include "core/plan/payload.h"

#include <algorithm>

#include "core/formula/mask.h"
#include "core/model/nms_methods.h"
#include "core/recognition/value_checks.h"

namespace keepbox {
namespace {

/// Returns the values per keypoint: as the family declares, otherwise three if each third value may
/// be a score.
uint8_t values_per_point(const Layout& layout, std::span<const TensorView> tensors) {
  if (layout.spec->points.values != 0) return layout.spec->points.values;
  if (layout.payload_count % 3 != 0) return 2;
  if (layout.payload_count % 2 != 0) return 3;
  const auto seen = ranges(layout, FieldId::kPayload, layout.payload_count, tensors);
  for (size_t i = 2; i < seen.size(); i += 3)
    if (seen[i].min < 0 || seen[i].max > 1) return 2;
  return 3;
}

/// Set assumed if the family declares none and the number of keypoints fits; four may be the
/// corners of a plate.
constexpr std::string_view kUsualSet = "body-pose/coco-17";

PointSet point_set_of(const PointRule& rule, uint16_t count) {
  const PointSet* set = find_point_set(rule.set.empty() ? kUsualSet : rule.set);
  return set != nullptr && set->count == count ? *set : PointSet{.count = count};
}

void settle_keypoints(Plan& plan, std::span<const TensorView> tensors) {
  const PointRule& rule = plan.spec->points;
  const uint8_t values = values_per_point(plan.layout, tensors);
  const auto count = static_cast<uint16_t>(plan.layout.payload_count / values);
  plan.payload = {.kind = kKeypointPayload,
                  .count = kPointValues * count,
                  .mean = traits_of(plan.rules.method).merges_payload,
                  .keypoints = {.coding = rule.coding,
                                .values = values,
                                .yx = rule.yx,
                                .clipped = plan.rules.contract.clip_keypoints,
                                .count = count},
                  .point_set = point_set_of(rule, count)};
}

/// Finds the prototypes: as many maps as a box has coefficients, as planes or interleaved.
Field find_prototypes(const Layout& layout, std::span<const TensorView> tensors, Size& maps) {
  const size_t wanted = layout.payload_count;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto d = tensors[i].shape.dims();
    if (d.size() != 4 || d[0] != layout.images || !is_real(tensors[i])) continue;
    const bool planes = d[1] == wanted;
    if ((!planes && d[3] != wanted) || static_cast<int>(i) == layout[FieldId::kBox].tensor)
      continue;
    const size_t height = planes ? d[2] : d[1], width = planes ? d[3] : d[2];
    const size_t pixels = height * width;
    if (pixels == 0 || pixels > kMaxMaskPixels) continue;
    maps = {static_cast<uint32_t>(width), static_cast<uint32_t>(height)};
    return {.tensor = static_cast<int>(i),
            .anchor_stride = planes ? 1 : wanted,
            .channel_stride = planes ? pixels : 1,
            .image_stride = wanted * pixels};
  }
  return {};
}

void settle_masks(Plan& plan, const Settings& settings, std::span<const TensorView> tensors) {
  MaskRules rules{.coefficients = plan.layout.payload_count, .enlarged = settings.frame_masks};
  const Field field = find_prototypes(plan.layout, tensors, rules.maps);
  if (!field.present()) {
    plan.remark += "; no masks because there are no prototypes";
    return;
  }
  plan.layout[FieldId::kPrototypes] = field;
  plan.payload = {.kind = kMaskPayload, .count = rules.coefficients, .masks = rules};
}

void settle_embedding(Plan& plan) {
  plan.payload = {.kind = kEmbeddingPayload,
                  .count = plan.layout.payload_count,
                  .mean = traits_of(plan.rules.method).merges_payload};
}

}  // namespace

void settle_payload(Plan& plan, const Settings& settings, std::span<const TensorView> tensors) {
  const Payload payload = plan.spec->payload;
  const bool there = plan.layout[FieldId::kPayload].present() && plan.layout.payload_count != 0;
  if (payload == Payload::kKeypoints && there && settings.keypoints)
    settle_keypoints(plan, tensors);
  if (payload == Payload::kMaskCoefficients && there && settings.masks)
    settle_masks(plan, settings, tensors);
  if (payload == Payload::kEmbedding && there) settle_embedding(plan);
  if (plan.payload.any()) return;
  for (Segment& segment : plan.layout.segments) segment[FieldId::kPayload] = {};
}

}  // namespace keepbox
