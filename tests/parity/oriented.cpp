// SPDX-License-Identifier: LGPL-2.1-or-later
// Inputs with oriented boxes: side by side, nested, crossing, thin, equal, with angles beyond a
// full turn.
#include <cmath>
#include <limits>

#include "tests/parity/makers.h"

#include "core/model/contracts.h"

namespace keepbox::test {
namespace {

constexpr float kRight = 1.57079633f;

float any_angle(Random& random) {
  switch (pick(random, 0, 5)) {
    case 0: return 0.5f * kRight * float(pick(random, -9, 9));
    case 1: return uniform(random, -400, 400);
    default: return uniform(random, -kRight, 2 * kRight);
  }
}

/// Returns a box next to another one, inside of it, or equal.
OrientedRow beside(Random& random, const OrientedRow& first) {
  OrientedRow out = first;
  out.score = pick(random, 0, 9) ? uniform(random, 0.1f, 1) : first.score;
  const float c = std::cos(first.angle), s = std::sin(first.angle);
  switch (pick(random, 0, 7)) {
    case 0: break;
    case 1: out.angle += pick(random, 0, 1) ? kRight : 2 * kRight; break;
    case 2: out.w *= 0.5f, out.h *= uniform(random, 0.3f, 1); break;
    case 3: out.cx += first.w * c, out.cy += first.w * s; break;  // a common side
    case 4: std::swap(out.w, out.h), out.angle += kRight; break;  // the same box again
    case 5:                                                       // on its corner
      out.cx += 0.5f * (first.w * c - first.h * s);
      out.cy += 0.5f * (first.w * s + first.h * c);
      break;
    default:
      out.cx += uniform(random, -0.4f, 0.4f) * first.w;
      out.cy += uniform(random, -0.4f, 0.4f) * first.h;
      out.w *= uniform(random, 0.7f, 1.4f);
      out.angle += uniform(random, -0.5f, 0.5f);
  }
  return out;
}

std::vector<OrientedRow> objects(Random& random, int count, int each, int classes) {
  std::vector<OrientedRow> out;
  for (int o = 0; o < count; ++o) {
    const float thin = pick(random, 0, 3) ? 1 : 0.03f;
    const OrientedRow first{uniform(random, -20, 660), uniform(random, -20, 660),
                            uniform(random, 8, 140),   uniform(random, 8, 140) * thin,
                            uniform(random, 0.1f, 1),  float(pick(random, 0, classes - 1)),
                            any_angle(random)};
    out.push_back(first);
    for (int i = 1; i < each; ++i) {
      out.push_back(beside(random, first));
      if (pick(random, 0, 5) == 0) out.back().class_id = float(pick(random, 0, classes - 1));
    }
  }
  for (OrientedRow& row : out) {
    if (pick(random, 0, 150) == 0) row.w = float(pick(random, -1, 0)) * 5;
    if (pick(random, 0, 150) == 0) row.angle = std::nanf("");
    if (pick(random, 0, 150) == 0) row.angle = std::numeric_limits<float>::infinity();
    if (pick(random, 0, 150) == 0) row.w = row.cx = 1e30f;
  }
  std::ranges::shuffle(out, random);
  return out;
}

/// Applies any method, contract and limits.
Input suppressed(Random& random, const std::vector<OrientedRow>& list) {
  constexpr NmsMethod kMethods[] = {NmsMethod::kGreedy, NmsMethod::kGreedy, NmsMethod::kFast,
                                    NmsMethod::kBitmask, NmsMethod::kSegmented};
  Input input{.tensors = {oriented_rows(list)}};
  Settings& settings = input.settings;
  const int boxes = static_cast<int>(list.size());
  settings.nms_method = pick(random, 0, 3) ? kMethods[pick(random, 0, 4)] : other_method(random);
  settings.nms_sigma = uniform(random, 0.05f, 1);
  const char* overlaps[] = {"exact", "ultralytics-obb"};
  settings.nms_contract = overlaps[pick(random, 0, 1)];
  const auto last = static_cast<int>(contracts().size()) - 1;
  if (pick(random, 0, 3) == 0)
    settings.nms_contract = contracts()[static_cast<size_t>(pick(random, 0, last))].name;
  const float thresholds[] = {0, 1, 0.5f, 1.0f / 3};
  settings.iou_threshold =
      pick(random, 0, 4) ? uniform(random, 0.05f, 0.8f) : thresholds[pick(random, 0, 3)];
  settings.class_agnostic = pick(random, 0, 3) == 0;
  if (pick(random, 0, 2) == 0)
    settings.max_detections = static_cast<uint32_t>(pick(random, 1, boxes));
  if (pick(random, 0, 4) == 0)
    settings.pre_nms_top_k = static_cast<uint32_t>(pick(random, 1, boxes));
  if (pick(random, 0, 6) == 0) settings.class_top_k = static_cast<uint32_t>(pick(random, 1, 9));
  return input;
}

Input oriented(Random& random) {
  Input input = suppressed(random, objects(random, pick(random, 2, 20), pick(random, 1, 9), 4));
  Tensor& tensor = input.tensors[0];
  const size_t rows = tensor.shape[1];
  if (rows % 2 == 0 && pick(random, 0, 3) == 0) tensor.shape = Shape{2, rows / 2, 7};
  return input;
}

/// Planes or rows with class scores before the angle.
Input oriented_planes(Random& random) {
  const size_t anchors = static_cast<size_t>(pick(random, 300, 700)), classes = 15;
  const bool planes = pick(random, 0, 2) != 0;
  Tensor tensor = dense(random, anchors, 4 + classes + 1, 4, planes, 160);
  for (size_t a = 0; a < anchors; ++a) {
    const size_t at = planes ? (4 + classes) * anchors + a : (a + 1) * (5 + classes) - 1;
    tensor.values[at] = pick(random, 0, 50) ? any_angle(random) : std::nanf("");
  }
  Input input = forced(pick(random, 0, 1) ? "yolov8-obb" : "yolo11-obb", std::move(tensor), 160);
  if (pick(random, 0, 1)) input.settings.nms_contract = "exact";
  if (pick(random, 0, 2) == 0) input.settings.multi_label = true;
  if (pick(random, 0, 2) == 0) input.settings.exclude_classes = {1, 3};
  input.settings.score_threshold = uniform(random, 0.1f, 0.4f);
  return input;
}

/// Boxes across the border, and frames with different scales of the axes.
Input oriented_frames(Random& random) {
  Input input = suppressed(random, objects(random, pick(random, 2, 30), 2, 4));
  Settings& settings = input.settings;
  settings.model_size = {640, 640};
  const Size frames[] = {{640, 640}, {1280, 720}, {333, 1000}, {1920, 1080}};
  settings.frame.size = frames[pick(random, 0, 3)];
  const ResizeMode modes[] = {ResizeMode::kStretch, ResizeMode::kLetterboxCenter,
                              ResizeMode::kLetterboxScaler};
  settings.resize_mode = modes[pick(random, 0, 2)];
  FilterSettings& filters = settings.filters;
  if (pick(random, 0, 2) == 0)
    filters.min_size.all = {uniform(random, 0, 40), uniform(random, 0, 40)};
  if (pick(random, 0, 2) == 0)
    filters.regions = {{.box = {0.2f, 0.1f, 0.9f, 0.7f}, .fractions = 1}};
  const RegionRule rules[] = {RegionRule::kCenter, RegionRule::kInside, RegionRule::kTouch};
  filters.rule = rules[pick(random, 0, 2)];
  return input;
}

/// Enough boxes to be binned by location.
Input oriented_crowd(Random& random) {
  Input input = suppressed(random, objects(random, pick(random, 60, 300), 12, 3));
  if (pick(random, 0, 3)) input.settings.nms_method = NmsMethod::kGreedy;
  return input;
}

constexpr Family kOrientedFamilies[] = {
    {"oriented", "angles, overlaps and limits of oriented boxes in every relation", oriented},
    {"oriented-planes", "angles after class scores", oriented_planes},
    {"oriented-frames", "oriented boxes across the border, or stretched", oriented_frames},
    {"oriented-crowd", "oriented boxes that are not compared", oriented_crowd, 10},
};

}  // namespace

std::span<const Family> oriented_families() { return kOrientedFamilies; }

}  // namespace keepbox::test
