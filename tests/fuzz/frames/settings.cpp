// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws settings.
#include "tests/fuzz/frames/settings.h"

#include <algorithm>
#include <limits>

#include "core/model/contracts.h"

namespace keepbox::fuzz {
namespace {

constexpr uint32_t kCounts[] = {300, 300, 1, 2, 7, 50, 1000, 0, kMaxAnchors, ~0u};
constexpr uint32_t kLimits[] = {0, 0, 0, 0, 1, 3, 20, 500, ~0u};

constexpr uint32_t kOddClasses[] = {kMaxClasses - 1, kMaxClasses, ~0u, 1u << 31};

uint32_t draw_class(Input& input) {
  if (input.chance(5)) return input.pick(kOddClasses);
  return input.below(input.chance(90) ? 12 : 400);
}

float draw_threshold(Input& input) {
  static constexpr float kThresholds[] = {0.25f, 0.25f, 0.3f, 0.1f, 0.5f, 0.02f, 0.9f};
  static constexpr float kOdd[] = {0, -1, 1, 1e-40f, -0.0f, 3e38f, 0.001f};
  return input.chance(90)   ? input.pick(kThresholds)
         : input.chance(70) ? input.pick(kOdd)
                            : input.number();
}

/// Returns a length in frame pixels or, for regions, in fractions.
float draw_length(Input& input, float most) {
  return input.chance(3) ? input.number() : most * static_cast<float>(input.below(101)) / 100.0f;
}

void draw_sizes(Input& input, BoxSizes& sizes, bool least) {
  const auto draw = [&] {
    const float width = draw_length(input, least ? 10 : 200);
    return BoxSize{width, draw_length(input, least ? 10 : 200)};
  };
  if (input.chance(50)) sizes.all = draw();
  for (uint32_t left = input.below(3); left > 0; --left) {
    const uint32_t id = draw_class(input);
    sizes.of_class.emplace_back(id, draw());
  }
}

void draw_regions(Input& input, std::vector<Region>& out, Size frame) {
  for (uint32_t left = input.chance(4) ? input.below(20) : input.below(3); left > 0; --left) {
    const bool fractions = input.chance(50);
    const float w = fractions ? 1.0f : static_cast<float>(frame.width);
    const float h = fractions ? 1.0f : static_cast<float>(frame.height);
    const float x = draw_length(input, w), y = draw_length(input, h);
    const float width = 0.1f * w + draw_length(input, w), height = 0.1f * h + draw_length(input, h);
    out.push_back({{x, y, x + width, y + height}, fractions ? 1u : 0u});
  }
}

void draw_filters(Input& input, FilterSettings& filters, Size frame) {
  if (input.chance(40)) draw_sizes(input, filters.min_size, true);
  if (input.chance(40)) draw_sizes(input, filters.max_size, false);
  if (input.chance(40)) draw_regions(input, filters.regions, frame);
  if (input.chance(40)) draw_regions(input, filters.excluded, frame);
  filters.rule = any(input, kRegionWords);
}

Size draw_size(Input& input) {
  static constexpr uint32_t kSides[] = {640, 320, 64, 1, 31, 1920, 65536, 0, 2147483647, ~0u};
  const uint32_t width = input.pick(kSides);
  return {width, input.pick(kSides)};
}

/// Draws the frame, the model's input and how one fits into the other.
void draw_geometry(Input& input, Settings& s, const Frame& frame) {
  s.model_size = input.chance(90) ? frame.model : Size{};
  s.frame.size = frame.model;
  if (!input.chance(60)) s.frame.size = input.chance(85) ? Size{320, 240} : draw_size(input);
  s.resize_mode = any(input, kResizeWords);
  if (input.chance(5)) s.model_size = draw_size(input);
  if (input.chance(15)) {
    s.frame.par_n = input.between(1, 100);
    s.frame.par_d = input.between(1, 100);
  }
  if (input.chance(15) && s.frame.size.width != 0 && s.frame.size.height != 0)
    s.letterbox = make_letterbox({.size = {200, 100}}, {.size = frame.model}, s.resize_mode);
  s.units = input.chance(70) ? Units::kAuto : any(input, kUnitsWords);
}

void draw_limits(Input& input, Settings& s) {
  s.max_detections = input.pick(kCounts);
  s.class_top_k = input.pick(kLimits);
  s.pre_nms_top_k = input.pick(kLimits);
  s.pre_nms_class_top_k = input.pick(kLimits);
  s.class_agnostic = input.chance(20);
  if (input.chance(50)) s.nms_method = input.pick(kNmsMethods).method;
  if (input.chance(40)) s.nms_contract = input.pick(contracts()).name;
  if (input.chance(1)) s.nms_contract = input.text(8);
  if (input.chance(20)) s.nms_sigma = input.chance(80) ? 0.1f : input.number();
  if (input.chance(40)) s.multi_label = input.chance(60);
}

/// Sets the family by name, not at all, by the producer or by a file.
void draw_detector(Input& input, Settings& s, const DetectorSpec& spec, const Frame& frame) {
  const uint32_t how = input.below(10);
  if (how == 7) s.declared_detector = spec.name;
  if (how == 8) s.tensor_ids.assign(1, input.text(10));
  s.detector = how < 7 ? spec.name : "auto";
  if (input.chance(5))
    for (const Tensor& tensor : frame.tensors)
      if (input.chance(80)) s.tensor_ids.push_back(tensor.id);
  if (input.chance(2)) s.detector = input.chance(50) ? input.pick(detectors()).name : "none";
}

}  // namespace

void draw_tunables(Input& input, Settings& s) {
  if (!input.chance(20)) s.score_threshold = draw_threshold(input);
  if (input.chance(60)) s.iou_threshold = draw_threshold(input);
  s.class_thresholds.clear();
  s.include_classes.clear();
  s.exclude_classes.clear();
  s.filters = {};
  for (uint32_t left = input.chance(20) ? input.below(4) : 0; left > 0; --left) {
    const uint32_t id = draw_class(input);
    s.class_thresholds.emplace_back(id, draw_threshold(input));
  }
  for (uint32_t left = input.chance(15) ? input.below(4) : 0; left > 0; --left)
    s.include_classes.push_back(draw_class(input));
  for (uint32_t left = input.chance(15) ? input.below(4) : 0; left > 0; --left)
    s.exclude_classes.push_back(draw_class(input));
  if (input.chance(20)) draw_filters(input, s.filters, s.frame.size);
}

Settings draw_settings(Input& input, const DetectorSpec& spec, const Frame& frame,
                       std::shared_ptr<const DetectorSpec> changed) {
  Settings s;
  if (changed) s.family = std::move(changed);
  else draw_detector(input, s, spec, frame);
  draw_geometry(input, s, frame);
  draw_limits(input, s);
  draw_tunables(input, s);
  s.priors = frame.priors;
  if (input.chance(20)) s.label_count = input.chance(70) ? frame.classes : input.below(100);
  if (input.chance(30)) s.num_classes = input.chance(80) ? frame.classes : input.below(100);
  s.keypoints = !input.chance(10);
  s.mask_size = any(input, kMaskSizeWords);
  return s;
}

}  // namespace keepbox::fuzz
