// SPDX-License-Identifier: LGPL-2.1-or-later
// Input families with too many candidates for one block of a GPU.
#include <algorithm>
#include <cmath>

#include "tests/parity/makers.h"

namespace keepbox::test {
namespace {

/// Draws scores: spread, in few steps, or all equal.
float score(Random& random, int kind) {
  if (kind == 0) return uniform(random, 0.26f, 1);
  return kind == 1 ? 0.3f + 0.01f * float(pick(random, 0, 40)) : 0.5f;
}

std::vector<Row> crowded(Random& random, int count, int classes, float span) {
  std::vector<Row> out;
  const int kind = pick(random, 0, 2);
  for (int i = 0; i < count; ++i) {
    const float x = uniform(random, 0, span), y = uniform(random, 0, span);
    out.push_back({x, y, x + uniform(random, 5, 60), y + uniform(random, 5, 60),
                   score(random, kind), float(pick(random, 0, classes - 1))});
  }
  return out;
}

/// More candidates than are processed at once, with limits that the best of them fill or not.
Input many(Random& random) {
  constexpr int kClasses[] = {1, 3, 80}, kLimits[] = {50, 300, 600, 6000}, kTops[] = {0, 100, 3000};
  Input input = ready(crowded(random, pick(random, 1900, 5000), kClasses[pick(random, 0, 2)],
                              uniform(random, 150, 600)));
  input.settings.max_detections = static_cast<uint32_t>(kLimits[pick(random, 0, 3)]);
  input.settings.pre_nms_top_k = static_cast<uint32_t>(kTops[pick(random, 0, 2)]);
  if (pick(random, 0, 3) == 0) input.settings.nms_contract = "onnx";
  else input.settings.class_agnostic = pick(random, 0, 3) == 0;
  return input;
}

/// One class among small ones that exceeds a warp and, with a high limit, a block.
Input large_class(Random& random) {
  auto list = crowded(random, pick(random, 60, 1200), 1, uniform(random, 60, 500));
  for (const Row& row : crowded(random, 100, 20, 500)) list.push_back(row);
  Input input = ready(std::move(list), uniform(random, 0.1f, 0.7f));
  constexpr int kLimits[] = {1, 31, 32, 33, 200, 300, 2000};
  input.settings.max_detections = static_cast<uint32_t>(kLimits[pick(random, 0, 6)]);
  if (pick(random, 0, 3) == 0) input.settings.nms_contract = "onnx";
  if (pick(random, 0, 5) == 0) input.settings.nms_contract = "opencv";
  return input;
}

/// More candidates than threads per block, for sequential methods and class limits.
Input large_methods(Random& random) {
  Input input =
      ready(crowded(random, pick(random, 900, 2500), pick(random, 1, 4), uniform(random, 100, 400)),
            uniform(random, 0.2f, 0.7f));
  Settings& settings = input.settings;
  settings.score_threshold = uniform(random, 0.1f, 0.3f);
  settings.nms_method = pick(random, 0, 3) ? other_method(random) : NmsMethod::kGreedy;
  settings.class_agnostic = pick(random, 0, 1);
  settings.max_detections = pick(random, 0, 1) ? 300 : 3000;
  if (pick(random, 0, 1)) settings.class_top_k = static_cast<uint32_t>(pick(random, 1, 400));
  const auto each = static_cast<uint32_t>(pick(random, 1, 1500));
  if (pick(random, 0, 1)) settings.pre_nms_class_top_k = each;
  if (pick(random, 0, 2) == 0) settings.nms_contract = "faster-rcnn";
  return input;
}

/// Adds a box and a few near it, one of which may be inverted.
void put_group(Random& random, std::vector<Row>& out, int classes, float longest) {
  const float w = std::exp2(uniform(random, -1, std::log2(longest)));  // equally likely
  const float h = w * uniform(random, 0.5f, 2);
  const float x = uniform(random, -200, 840), y = uniform(random, -200, 840);
  const auto class_id = float(pick(random, 0, classes - 1));
  for (int left = pick(random, 1, 3); left > 0; --left) {
    const bool beside = pick(random, 0, 3) == 0;  // by less than a pixel
    const float dx = beside ? w + uniform(random, 0, 0.9f) : uniform(random, -0.4f, 0.4f) * w;
    const float dy = uniform(random, -0.4f, 0.4f) * h;
    out.push_back({x + dx, y + dy, x + dx + w, y + dy + h, uniform(random, 0.3f, 1), class_id});
  }
  if (pick(random, 0, 30) == 0) std::swap(out.back().x1, out.back().x2);
}

/// Thousands of kept boxes of all sizes, inside of the input, across its borders and outside.
Input sparse(Random& random) {
  constexpr const char* kContracts[] = {"exact", "onnx", "plus-one", "inclusive"};
  constexpr int kClasses[] = {1, 3, 80};
  const int boxes = pick(random, 900, 4000), classes = kClasses[pick(random, 0, 2)];
  const float longest = pick(random, 0, 1) ? 1500 : 4;
  std::vector<Row> list;
  while (list.size() < static_cast<size_t>(boxes)) put_group(random, list, classes, longest);
  Input input = ready(std::move(list), uniform(random, 0, 0.4f));
  const int contract = pick(random, 0, 3);
  input.settings.nms_contract = kContracts[contract];
  if (pick(random, 0, contract == 3 ? 1 : 5) == 0) input.settings.iou_threshold = 0;
  input.settings.class_agnostic = pick(random, 0, 3) == 0;
  input.settings.max_detections = pick(random, 0, 1) ? 5000 : 700;
  return input;
}

/// Thousands of kept boxes, and crowds with lower scores, which the best boxes leave as they are.
Input late_crowds(Random& random) {
  std::vector<Row> list;
  const auto boxes = static_cast<size_t>(pick(random, 2200, 4000));
  const int classes = pick(random, 0, 1) ? 1 : 3;
  while (list.size() < boxes) put_group(random, list, classes, 30);
  for (Row& row : list) row.score = 0.5f + row.score / 2;
  for (int crowds = pick(random, 1, 4); crowds > 0; --crowds) {
    const float x = uniform(random, 0, 500), y = uniform(random, 0, 500);
    const float jitter = uniform(random, 1, 25);
    for (int left = pick(random, 20, 120); left > 0; --left) {
      const float dx = uniform(random, 0, jitter), dy = uniform(random, 0, jitter);
      list.push_back({x + dx, y + dy, x + dx + 50, y + dy + 50, uniform(random, 0.3f, 0.5f), 0});
    }
  }
  Input input = ready(std::move(list), uniform(random, 0.3f, 0.7f));
  constexpr const char* kContracts[] = {"exact", "exact", "ultralytics", "opencv"};
  input.settings.nms_contract = kContracts[pick(random, 0, 3)];
  input.settings.max_detections = 6000;
  return input;
}

/// More kept boxes than a block sorts at once, with limits around their number and none.
Input many_kept(Random& random) {
  constexpr int kClasses = 80, kLimits[] = {0, 1, 300, 511, 512, 513, 1000};
  std::vector<Row> list;
  const int each = pick(random, 5, 12);
  for (int i = 0; i < kClasses * each; ++i) {
    const float x = float(i % each) * 50, y = uniform(random, 0, 500);
    list.push_back({x, y, x + 40, y + 40, uniform(random, 0.3f, 1), float(i / each)});
  }
  std::ranges::shuffle(list, random);
  Input input = ready(std::move(list), 0.5f);
  input.settings.max_detections = static_cast<uint32_t>(kLimits[pick(random, 0, 6)]);
  return input;
}

/// Thousands of anchors that nearly all pass, in several images.
Input full_planes(Random& random) {
  const auto anchors = static_cast<size_t>(pick(random, 1500, 4000));
  Tensor tensor = dense(random, anchors, 9, 4, true, 640);
  const auto images = static_cast<size_t>(pick(random, 1, 3));
  for (size_t i = 1; i < images; ++i) {
    const Tensor other = dense(random, anchors, 9, 4, true, 640);
    tensor.values.insert(tensor.values.end(), other.values.begin(), other.values.end());
  }
  tensor.shape = {images, 9, anchors};
  Input input = forced("yolov8", std::move(tensor), 640);
  input.settings.score_threshold = pick(random, 0, 1) ? 0.01f : 0.2f;
  return input;
}

constexpr Family kCrowdFamilies[] = {
    {"many", "candidates left out, runs that are merged wrongly, limits beyond a block", many, 10},
    {"large-class", "tiles that lose a candidate or keep one too many", large_class, 5},
    {"large-methods", "candidates beyond a block's threads left out, or summed in another order",
     large_methods, 5},
    {"sparse", "kept boxes that are looked for in the wrong places", sparse, 5},
    {"many-kept", "boxes beyond what a block sorts at once, or a limit that none reaches",
     many_kept, 5},
    {"late-crowds", "lists of overlapping candidates that are full", late_crowds, 5},
    {"full-planes", "a block's list that overflows", full_planes, 10},
};

}  // namespace

std::span<const Family> crowd_families() { return kCrowdFamilies; }

}  // namespace keepbox::test
