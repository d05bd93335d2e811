// SPDX-License-Identifier: LGPL-2.1-or-later
// Inputs for the methods of suppression, each with a random method, contract and limits.
#include "tests/parity/makers.h"

#include "core/model/contracts.h"

namespace keepbox::test {
namespace {

constexpr NmsMethod kSoft[] = {NmsMethod::kSoftLinear, NmsMethod::kSoftGaussian};
constexpr NmsMethod kMeans[] = {NmsMethod::kWeighted, NmsMethod::kMerge};
constexpr NmsMethod kMatrices[] = {NmsMethod::kMatrix, NmsMethod::kMatrixLinear};
constexpr NmsMethod kOthers[] = {
    NmsMethod::kSoftLinear, NmsMethod::kSoftGaussian, NmsMethod::kWeighted, NmsMethod::kDiou,
    NmsMethod::kMatrix,     NmsMethod::kMatrixLinear, NmsMethod::kMerge};

/// Draws one of them.
NmsMethod one_of(Random& random, std::span<const NmsMethod> methods) {
  return methods[static_cast<size_t>(pick(random, 0, static_cast<int>(methods.size()) - 1))];
}

}  // namespace

NmsMethod other_method(Random& random) { return one_of(random, kOthers); }

namespace {

Input any_method(Random& random, std::vector<Row> list) {
  constexpr NmsMethod kMethods[] = {NmsMethod::kBitmask, NmsMethod::kSegmented, NmsMethod::kFast,
                                    NmsMethod::kGreedy};
  const int boxes = static_cast<int>(list.size());
  Input input = ready(std::move(list));
  input.settings.score_threshold = 0;  // every box is a candidate, so that their number matters
  input.settings.nms_method = kMethods[pick(random, 0, 6) % 4];
  if (pick(random, 0, 3) == 0) input.settings.nms_method = other_method(random);
  input.settings.nms_sigma = uniform(random, 0.05f, 1);
  const auto last = static_cast<int>(contracts().size()) - 1;
  input.settings.nms_contract = contracts()[static_cast<size_t>(pick(random, 0, last))].name;
  input.settings.class_agnostic = pick(random, 0, 2) == 0;
  if (pick(random, 0, 2) == 0)
    input.settings.max_detections = static_cast<uint32_t>(pick(random, 0, boxes + 1));
  if (pick(random, 0, 3) == 0)
    input.settings.pre_nms_top_k = static_cast<uint32_t>(pick(random, 1, boxes + 1));
  if (pick(random, 0, 5) == 0)
    input.settings.class_top_k = static_cast<uint32_t>(pick(random, 1, boxes / 4));
  return input;
}

/// One class with one box less or more than fills a number of mask words.
Input mask_words(Random& random) {
  const int boxes = 64 * pick(random, 1, 4) + pick(random, -1, 2);
  auto list = clusters(random, 12, (boxes + 11) / 12, 1);
  list.resize(static_cast<size_t>(boxes));
  return any_method(random, std::move(list));
}

/// Two crowded classes and many small ones, over the full range of ids.
Input many_classes(Random& random) {
  auto list = clusters(random, 25, 9, 40);
  const int first = pick(random, 0, 1) ? 0 : static_cast<int>(kMaxClasses) - 40;
  const int crowded = pick(random, 1, 39);
  for (Row& row : list) {
    const int id = static_cast<int>(row.class_id);
    if (id % 3 == 0) row.class_id = float(pick(random, 0, static_cast<int>(kMaxClasses) - 1));
    else row.class_id = float(first + (id % 3 == 1 ? crowded : crowded - 1));
  }
  return any_method(random, std::move(list));
}

/// Rows of more boxes than bits per word, each overlapping only its neighbours.
Input long_chains(Random& random) {
  std::vector<Row> out;
  for (int chain = 0; chain < 2; ++chain)
    for (int i = 0; i < 80; ++i) {
      const float x = float(i) * 3 + uniform(random, 0, 0.2f), y = float(chain) * 20;
      out.push_back({x, y, x + 10, y + 10, 0.9f - float(i) * 0.005f, float(chain)});
    }
  return any_method(random, std::move(out));
}

/// Classes that are full before their last box, some of them suppressing each other.
Input class_limit(Random& random) {
  Input input = any_method(random, clusters(random, 10, 10, 6));
  input.settings.nms_contract = "onnx";
  input.settings.max_detections = static_cast<uint32_t>(pick(random, 0, 6));
  input.settings.class_agnostic = pick(random, 0, 1) == 0;
  input.settings.class_top_k = static_cast<uint32_t>(pick(random, 0, 1) ? pick(random, 1, 8) : 0);
  return input;
}

/// Class limits before and after suppression, and overall limits, with any method.
Input class_top_k(Random& random) {
  Input input = any_method(random, clusters(random, 10, 10, 6));
  Settings& settings = input.settings;
  const auto some = [&](int most) { return static_cast<uint32_t>(pick(random, 1, most)); };
  if (pick(random, 0, 2)) settings.class_top_k = some(8);
  if (pick(random, 0, 2)) settings.pre_nms_class_top_k = some(30);
  settings.pre_nms_top_k = pick(random, 0, 1) ? some(100) : 0;
  settings.max_detections = pick(random, 0, 1) ? some(50) : 100;
  if (pick(random, 0, 3) == 0) settings.nms_method = NmsMethod::kNone;
  if (pick(random, 0, 3) == 0) settings.nms_method = NmsMethod::kGreedy;
  return input;
}

/// Small boxes with class offsets: values are rounded, and some overlap another class.
Input class_offset(Random& random) {
  const int last = pick(random, 0, 1) ? static_cast<int>(kMaxClasses) - 1 : 90;
  std::vector<Row> out;
  for (int group = 0; group < 40; ++group) {
    const float x = uniform(random, 0, 640), y = uniform(random, 0, 640);
    const int id = pick(random, 0, last - 1);
    for (int i = 0; i < 6; ++i) {
      const float dx = x + uniform(random, -4, 4), dy = y + uniform(random, -4, 4);
      const int further = pick(random, 0, 1);  // an adjacent class
      const float by = -640.0f * float(further);
      out.push_back({dx + by, dy + by, dx + by + uniform(random, 4, 24),
                     dy + by + uniform(random, 4, 24), uniform(random, 0.3f, 1),
                     float(id + further)});
    }
  }
  Input input = any_method(random, std::move(out));
  input.settings.nms_contract = pick(random, 0, 1) ? "ultralytics" : "yolov7-onnx";
  if (pick(random, 0, 1)) input.settings.nms_method = NmsMethod::kGreedy;
  return input;
}

/// Separate boxes, a few of them inverted along one axis: by OpenCV's formula the total area of
/// such a box and a smaller one is not positive, and so it overlaps boxes that it does not touch.
Input inverted(Random& random) {
  std::vector<Row> out;
  for (int i = 0; i < 200; ++i) {
    const float x = float(i % 15 * 40), y = float(i / 15 * 40), size = uniform(random, 5, 30);
    const bool turn = pick(random, 0, 29) == 0;
    out.push_back({turn ? x + size : x, y, turn ? x : x + size, y + uniform(random, 5, 30),
                   uniform(random, 0.3f, 1), float(pick(random, 0, 1))});
  }
  Input input = any_method(random, std::move(out));
  input.settings.nms_contract = "opencv";
  if (pick(random, 0, 1)) input.settings.nms_method = NmsMethod::kGreedy;
  return input;
}

/// Objects with boxes whose scores are close to each other and to the thresholds.
Input rescored(Random& random, std::span<const NmsMethod> methods) {
  Input input = any_method(random, clusters(random, 12, pick(random, 4, 12), 4));
  for (size_t i = 4; pick(random, 0, 3) == 0 && i < input.tensors[0].values.size(); i += 6)
    input.tensors[0].values[i] = 0.3f + 0.1f * float(pick(random, 0, 5));
  input.settings.nms_method = one_of(random, methods);
  input.settings.score_threshold = pick(random, 0, 3) ? uniform(random, 0.05f, 0.3f) : -1;
  if (pick(random, 0, 2) == 0) input.settings.class_thresholds = {{1, 0.2f}, {2, 0.35f}};
  input.settings.iou_threshold = uniform(random, 0.1f, 0.7f);
  return input;
}

Input soft(Random& random) { return rescored(random, kSoft); }
/// Contracts with and without their own exponent.
Input soft_contract(Random& random) {
  Input input = rescored(random, kSoft);
  input.settings.nms_method = NmsMethod::kSoftGaussian;
  if (pick(random, 0, 3)) input.settings.nms_contract = "tensorflow";
  return input;
}

Input means(Random& random) { return rescored(random, kMeans); }
Input matrix(Random& random) { return rescored(random, kMatrices); }
Input diou(Random& random) { return rescored(random, std::span(kOthers).subspan(3, 1)); }

/// Equal boxes and equal scores, boxes without area, inverted boxes, an IoU equal to the threshold.
Input method_edges(Random& random) {
  std::vector<Row> out;
  for (int i = 0; i < 150; ++i) {
    const float x = float(pick(random, 0, 6)) * 8, y = float(pick(random, 0, 6)) * 8;
    out.push_back({x, y, x + float(pick(random, -1, 4)) * 8, y + float(pick(random, -1, 4)) * 8,
                   pick(random, 0, 1) ? 0.5f : uniform(random, 0.3f, 1),
                   float(pick(random, 0, 2))});
  }
  Input input = any_method(random, std::move(out));
  const float thresholds[] = {0.5f, 1.0f / 3, 0.25f, 0, 1};
  input.settings.iou_threshold = thresholds[pick(random, 0, 4)];
  return input;
}

constexpr Family kMethodFamilies[] = {
    {"mask-words", "bits of a mask in the wrong word or place", mask_words},
    {"many-classes", "segments of classes that are off by one box", many_classes},
    {"long-chains", "which boxes suppress, from one word of a mask to the next", long_chains},
    {"class-limit", "boxes beyond a class's limit that suppress others", class_limit},
    {"class-top-k", "class limits applied in the wrong place", class_top_k},
    {"class-offset", "coordinates not rounded like those of the contract", class_offset},
    {"inverted", "boxes without area that overlap without touching", inverted},
    {"soft", "boxes chosen, dropped or lowered not by their current scores", soft},
    {"soft-contract", "scores lowered by another contract", soft_contract},
    {"means", "boxes that are in the wrong mean, or in the wrong order", means},
    {"matrix", "decay of scores by better boxes, and the order afterwards", matrix},
    {"diou", "distances left out", diou},
    {"method-edges", "ties and thresholds decided differently by a method", method_edges},
};

}  // namespace

std::span<const Family> method_families() { return kMethodFamilies; }

}  // namespace keepbox::test
