// SPDX-License-Identifier: LGPL-2.1-or-later
// Compares plans, and repeats one.
#include "core/plan/joint.h"

#include <algorithm>
#include <tuple>

namespace keepbox {
namespace {

auto parts_of(const Layout& layout) {
  return std::tie(layout.images, layout.anchors, layout.classes, layout.payload_count,
                  layout.indexed, layout.segments);
}

auto parts_of(const PayloadPlan& payload) {
  return std::tie(payload.kind, payload.count, payload.mean, payload.keypoints, payload.masks,
                  payload.point_set.name, payload.point_set.count);
}

auto parts_of(const Plan& plan) {
  return std::tie(plan.rules, plan.class_threshold, plan.output_threshold, plan.class_wanted,
                  plan.priors, plan.levels, plan.anchor_sizes, plan.size_limits, plan.regions,
                  plan.forms, plan.letterbox.model);
}

}  // namespace

bool can_join(const Plan& plan) {
  const Layout& layout = plan.layout;
  return layout.images == 1 && plan.tiles.empty() && !plan.is_joint() &&
         !layout[FieldId::kImage].present() && !layout[FieldId::kIndices].present();
}

Plan joint_plan(Plan plan, uint32_t frames) {
  plan.layout.images = frames;
  plan.maps.assign(frames, plan.letterbox);
  for (Segment& segment : plan.layout.segments)
    for (Field& field : segment.fields) field.image_stride = 0;  // each frame has its own tensors
  return plan;
}

bool are_alike(const Plan& a, const Plan& b) {
  return parts_of(a.layout) == parts_of(b.layout) && parts_of(a.payload) == parts_of(b.payload) &&
         std::ranges::equal(a.payload.point_set.edges, b.payload.point_set.edges) &&
         parts_of(a) == parts_of(b);
}

bool are_adjacent(std::span<const TensorView> tensors, std::span<const TensorView> next) {
  return std::ranges::equal(tensors, next, [](const TensorView& a, const TensorView& b) {
    const auto count = a.shape.count();
    return count && static_cast<const std::byte*>(a.data) + *count * size_of(a.type) == b.data;
  });
}

}  // namespace keepbox
