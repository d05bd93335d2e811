// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks boxes.
#include "tests/fuzz/frames/checks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <format>
#include <vector>

#include "core/formula/emit.h"
#include "core/formula/mask.h"
#include "core/model/nms_methods.h"
#include "core/run/payload.h"
#include "tests/fuzz/fuzz.h"

namespace keepbox::fuzz {
namespace {

std::string text(const Detection& d) {
  return std::format("score {} anchor {} class {} box {} {} {} {} angle {}", d.score, d.anchor,
                     d.class_id, d.box.x1, d.box.y1, d.box.x2, d.box.y2, d.angle);
}

void require(bool holds, const char* what, const Plan& plan, const Detection& box) {
  if (!holds) violated(std::format("{}: {}: {}", plan.spec->name, what, text(box)));
}

void require(bool holds, const char* what, const Plan& plan) {
  if (!holds) violated(std::format("{}: {}", plan.spec->name, what));
}

void check_box(const Plan& plan, const Detection& d) {
  const Rules& rules = plan.rules;
  const Tables tables = plan.tables();
  require(d.class_id < rules.class_ids && plan.class_wanted[d.class_id] != 0,
          "a class that is not wanted", plan, d);
  const bool ready = plan.layout.classes == 0;
  require(ready || (d.class_id >= rules.first_class && d.class_id < rules.end_class),
          "a class that the model does not have", plan, d);
  require(d.anchor < std::max(rules.anchors, rules.indexed), "no such anchor", plan, d);
  require(is_finite(d.score) &&
              passes(d.score, threshold_of(rules, tables, d.class_id), rules.contract),
          "a score below its threshold", plan, d);
  require(finite(d.box) && is_finite(d.angle) && !is_empty(d.box), "no box", plan, d);
  const Size frame = plan.letterbox.frame;
  const Box around = rules.oriented ? around_oriented(d.box, d.angle) : d.box;
  const Box inside = clip(around, frame);
  require(!is_empty(inside) && (rules.oriented || inside == d.box), "beyond the frame", plan, d);
  require(passes_filters(d.box, around, d.class_id, frame, rules, tables),
          "of a size or in a place that is not wanted", plan, d);
  require(rules.oriented || d.angle == 0, "an angle of an upright box", plan, d);
}

bool in_order(const NmsContract& contract, const Detection& a, const Detection& b) {
  if (a.score != b.score) return a.score > b.score;
  if (a.anchor != b.anchor) return (a.anchor < b.anchor) != contract.later_first;
  return a.class_id < b.class_id;
}

void check_limits(const Plan& plan, std::span<const Detection> boxes) {
  const Rules& rules = plan.rules;
  const size_t most = rules.contract.per_class_limit ? rules.kept_capacity : rules.max_detections;
  require(boxes.size() <= most, "more boxes than max-detections", plan);
  std::vector<uint32_t> each(rules.class_ids);
  for (const Detection& box : boxes)
    require(++each[box.class_id] <= rules.class_limit, "more of a class than wanted", plan, box);
}

void check_funnel(const Plan& plan, const Funnel& f, size_t boxes) {
  const Rules& rules = plan.rules;
  const uint64_t each = std::max(rules.multi_label ? rules.classes : 1, 1u);
  const uint64_t most = rules.anchors * each;
  const bool fine = f.anchors <= rules.anchors && f.above_threshold <= most &&
                    f.not_finite <= f.above_threshold &&
                    f.after_class_filter <= std::min(f.above_threshold, rules.candidates) &&
                    f.after_top_k <= std::min(f.after_class_filter, rules.pre_nms_top_k) &&
                    f.kept <= f.after_top_k && f.kept == boxes + f.clipped_away + f.filtered_out;
  if (!fine)
    violated(std::format("{}: counts of {} anchors do not fit: {} {} {} {} {} {} {} {}, {} boxes",
                         plan.spec->name, rules.anchors, f.anchors, f.above_threshold, f.not_finite,
                         f.after_class_filter, f.after_top_k, f.kept, f.clipped_away,
                         f.filtered_out, boxes));
}

void check_points(const Plan& plan, std::span<const Keypoint> points, size_t boxes) {
  require(points.size() == boxes * plan.payload.keypoints.count, "another number of points", plan);
  for (const Keypoint& point : points)
    require(is_finite(point.x) && is_finite(point.y) && is_finite(point.score),
            "a point that is none", plan);
}

void check_masks(const Plan& plan, std::span<const Mask> masks, std::span<const Detection> boxes) {
  const MaskRules& rules = plan.payload.masks;
  require(masks.size() == (rules.coefficients == 0 ? 0 : boxes.size()), "another number of masks",
          plan);
  const Size frame = plan.letterbox.frame;
  size_t inside = 0;
  for (const Mask& mask : masks) {
    size_t bits = 0, pixels = 0;
    for (size_t i = 0; i < size_t{mask.stride} * mask.height; ++i)
      bits += static_cast<size_t>(std::popcount(mask.bits[i]));
    for (uint32_t y = 0; y < mask.height; ++y)
      for (uint32_t x = 0; x < mask.width; ++x) pixels += mask.at(x, y) ? 1 : 0;
    require(bits == pixels, "bits beside a mask's pixels", plan);
    inside += pixels;
    if (mask.width == 0 || mask.height == 0) continue;
    require(finite(mask.place) && !is_empty(mask.place), "a mask without a place", plan);
    require(!rules.enlarged || clip(mask.place, frame) == mask.place, "a mask beyond the frame",
            plan);
    count("masks");
  }
  if (inside != 0) count("masks with pixels");
}

void check_image(const Processor& processor, uint32_t image) {
  const Plan& plan = processor.plan();
  const auto boxes = processor.detections(image);
  check_limits(plan, boxes);
  for (size_t i = 0; i < boxes.size(); ++i) {
    check_box(plan, boxes[i]);
    require(i == 0 || in_order(plan.rules.contract, boxes[i - 1], boxes[i]),
            "boxes out of order, or one twice", plan, boxes[i]);
  }
  check_funnel(plan, processor.funnel(image), boxes.size());
  check_points(plan, processor.keypoints(image), boxes.size());
  check_masks(plan, processor.masks(image), boxes);
}

bool same_bits(const Keypoint& a, const Keypoint& b) { return std::memcmp(&a, &b, sizeof a) == 0; }
bool same_bits(const Detection& a, const Detection& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}
bool same_bits(const Mask& a, const Mask& b) {
  return a.width == b.width && a.height == b.height && a.stride == b.stride && a.first == b.first &&
         std::memcmp(&a.place, &b.place, sizeof a.place) == 0 &&
         std::equal(a.bits, a.row(a.height), b.bits);
}

template <class T>
bool same(std::span<const T> a, std::span<const T> b) {
  return std::ranges::equal(a, b, [](const T& x, const T& y) { return same_bits(x, y); });
}

/// Returns a processor's name for messages.
std::string name(const Processor& of) {
  return std::format("{} ({})", of.plan().spec->name, of.backend().name);
}

bool keeps_as_they_are(const Rules& rules) {
  const NmsTraits& method = traits_of(rules.method);
  return !method.rescores && !method.moves_boxes;
}

}  // namespace

void check_error(const Error& error, const char* where) {
  if (error.what.empty() && (error.expected.empty() || error.found.empty()))
    violated(std::format("{}: an error without a text: {}", where, error.message()));
}

void check_boxes(const Processor& processor) {
  for (uint32_t image = 0; image < processor.plan().layout.images; ++image)
    check_image(processor, image);
}

void check_same(const Processor& want, const Processor& got, const char* where) {
  const auto differ = [&](const char* what, uint32_t image) {
    violated(std::format("{}: {} and {} have other {} on image {}", where, name(want), name(got),
                         what, image));
  };
  for (uint32_t image = 0; image < want.plan().layout.images; ++image) {
    if (!same(want.detections(image), got.detections(image))) differ("boxes", image);
    if (!same(want.keypoints(image), got.keypoints(image))) differ("points", image);
    if (!same(want.masks(image), got.masks(image))) differ("masks", image);
    if (std::memcmp(&want.funnel(image), &got.funnel(image), sizeof(Funnel)) != 0)
      differ("counts", image);
  }
}

void check_nms_of_nms(const Plan& plan, const Backend& backend,
                      std::span<const TensorView> tensors) {
  if (!keeps_as_they_are(plan.rules)) return;
  const auto workspace = Workspace::create(plan);
  if (!workspace) return;
  const Scratch& scratch = workspace->scratch();
  Funnel funnel;
  const uint32_t decoded = backend.kernels->decode(plan, tensors, 0, {0, plan.layout.anchors},
                                                   scratch.candidates, funnel);
  const auto ordered = scratch.ordered.first(backend.kernels->select(
      plan, scratch.candidates.first(decoded), scratch.slots, scratch.ordered));
  const uint32_t kept = backend.kernels->nms(plan, ordered, scratch.kept, scratch.nms);
  for (uint32_t i = 0; i < kept; ++i) scratch.candidates[i] = ordered[scratch.kept[i]];
  const uint32_t again =
      backend.kernels->nms(plan, scratch.candidates.first(kept), scratch.kept, scratch.nms);
  if (again != kept)
    violated(std::format("{} ({}): of {} kept boxes {} are kept", plan.spec->name, backend.name,
                         kept, again));
}

}  // namespace keepbox::fuzz
