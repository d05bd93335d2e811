// SPDX-License-Identifier: LGPL-2.1-or-later
// Inputs for the methods of suppression: each takes a method, a contract and limits at random.
#include "tests/parity/makers.h"

namespace keepbox::test {
namespace {

Input any_method(Random& random, std::vector<Row> list) {
  constexpr NmsMethod kMethods[] = {NmsMethod::kBitmask, NmsMethod::kSegmented, NmsMethod::kFast,
                                    NmsMethod::kGreedy};
  const int boxes = static_cast<int>(list.size());
  Input input = ready(std::move(list));
  input.settings.score_threshold = 0;  // every box is a candidate, or their number means nothing
  input.settings.method = kMethods[pick(random, 0, 6) % 4];
  const auto last = static_cast<int>(contracts().size()) - 1;
  input.settings.contract = contracts()[static_cast<size_t>(pick(random, 0, last))].name;
  input.settings.class_agnostic = pick(random, 0, 2) == 0;
  if (pick(random, 0, 2) == 0)
    input.settings.max_detections = static_cast<uint32_t>(pick(random, 0, boxes + 1));
  if (pick(random, 0, 3) == 0)
    input.settings.pre_nms_top_k = static_cast<uint32_t>(pick(random, 1, boxes + 1));
  return input;
}

/// One class of a box less or more than so many words of a mask, most in few places.
Input mask_words(Random& random) {
  const int boxes = 64 * pick(random, 1, 4) + pick(random, -1, 2);
  auto list = clusters(random, 12, (boxes + 11) / 12, 1);
  list.resize(static_cast<size_t>(boxes));
  return any_method(random, std::move(list));
}

/// Two crowded classes side by side and many of a box or two, with ids from end to end.
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

/// Rows of more boxes than a word has bits, each of which overlaps only its neighbours.
Input long_chains(Random& random) {
  std::vector<Row> out;
  for (int chain = 0; chain < 2; ++chain)
    for (int i = 0; i < 80; ++i) {
      const float x = float(i) * 3 + uniform(random, 0, 0.2f), y = float(chain) * 20;
      out.push_back({x, y, x + 10, y + 10, 0.9f - float(i) * 0.005f, float(chain)});
    }
  return any_method(random, std::move(out));
}

/// Classes that are full before their boxes are through, some of them suppressing each other.
Input class_limit(Random& random) {
  Input input = any_method(random, clusters(random, 10, 10, 6));
  input.settings.contract = "onnx";
  input.settings.max_detections = static_cast<uint32_t>(pick(random, 0, 6));
  input.settings.class_agnostic = pick(random, 0, 1) == 0;
  return input;
}

/// Equal boxes and equal scores, boxes without area, inverted ones, an IoU on the threshold.
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

constexpr Family kFamilies[] = {
    {"mask-words", "bits of a mask in the wrong word or place", mask_words},
    {"many-classes", "segments of classes that begin or end a box off", many_classes},
    {"long-chains", "which boxes suppress, from one word of a mask to the next", long_chains},
    {"class-limit", "boxes beyond a class's limit that suppress others", class_limit},
    {"method-edges", "ties and thresholds decided otherwise by a method", method_edges},
};

}  // namespace

std::span<const Family> method_families() { return kFamilies; }

}  // namespace keepbox::test
