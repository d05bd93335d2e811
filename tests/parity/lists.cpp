// SPDX-License-Identifier: LGPL-2.1-or-later
// Inputs that are lists: queries, indices, rows of several images, integers next to floats.
#include <cstring>
#include <utility>

#include "tests/parity/values.h"

namespace keepbox::test {
namespace {

/// Boxes and scores of queries, with the best class or all.
Input queries(Random& random) {
  const char* names[] = {"detr", "rt-detr", "yolo-nas", "rtdetr-ultralytics"};
  const int which = pick(random, 0, 3);
  Input input = head_input(names[which]);
  const size_t count = size_t(pick(random, 1, 300));
  if (which == 3) {
    input.tensors = {random_numbers(random, {1, count, 4 + 9}, {0, 0.6f})};
  } else {
    input.tensors = {random_numbers(random, {1, count, 4}, {0, which == 2 ? 60.0f : 1.0f}),
                     random_numbers(random, {1, count, 9}, which == 2 ? kScores : Span{-4, 2})};
  }
  if (pick(random, 0, 2) == 0) input.settings.nms_method = NmsMethod::kGreedy;
  if (pick(random, 0, 2) == 0) input.settings.multi_label = pick(random, 0, 1) != 0;
  return input;
}

/// Rows that index boxes, some of them invalid or of other images.
Input pointers(Random& random) {
  Input input = head_input(pick(random, 0, 1) ? "onnx-nms" : "onnx-nms-xy", 0.1f);
  const size_t boxes = size_t(pick(random, 1, 60)), classes = 4, rows = size_t(pick(random, 0, 90));
  Tensor indices{.shape = {rows, 3}, .type = DataType::kInt64};
  indices.raw.resize(rows * 3 * sizeof(int64_t));
  for (size_t i = 0; i < rows * 3; ++i) {
    const int most[] = {1, 4, static_cast<int>(boxes)};
    int64_t index = pick(random, 0, most[i % 3] - (pick(random, 0, 9) == 0 ? 0 : 1));
    if (pick(random, 0, 40) == 0) index = -1;
    std::memcpy(indices.raw.data() + i * sizeof index, &index, sizeof index);
  }
  input.tensors = {std::move(indices), random_numbers(random, {1, boxes, 4}, {0, 60}),
                   random_numbers(random, {1, classes, boxes}, {0, 1})};
  const char* ids[] = {"selected_indices", "boxes", "scores"};
  for (size_t i = 0; i < 3; ++i) input.tensors[i].id = ids[i];
  return input;
}

/// Rows of several images, ended by an invalid one.
Input images(Random& random) {
  const bool ended = pick(random, 0, 1) != 0;
  Input input = head_input(ended ? "detection-output" : "yolov7-end2end");
  Tensor out{.shape = {}};
  const int rows = pick(random, 1, 120);
  for (int i = 0; i < rows; ++i) {
    const float image = pick(random, 0, 60) == 0 ? -1.0f : float(pick(random, 0, 4) == 0);
    const float x = uniform(random, 0, ended ? 0.7f : 60),
                y = uniform(random, 0, ended ? 0.7f : 40);
    const float w = uniform(random, 0, ended ? 0.3f : 30);
    const float score = uniform(random, 0, 1), id = float(pick(random, 0, 5));
    if (ended) out.values.insert(out.values.end(), {image, id, score, x, y, x + w, y + w});
    else out.values.insert(out.values.end(), {image, x, y, x + w, y + w, id, score});
  }
  out.shape = ended ? Shape{1, 1, size_t(rows), 7} : Shape{size_t(rows), 7};
  input.tensors = {std::move(out)};
  return input;
}

/// A tensor of integers of that type.
template <class T>
Tensor whole(DataType type, Shape shape, std::span<const float> values) {
  Tensor out{
      .shape = shape, .type = type, .raw = std::vector<std::byte>(values.size() * sizeof(T))};
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(out.raw.data() + i * sizeof value, &value, sizeof value);
  }
  return out;
}

/// Boxes, scores and labels as integers, in separate tensors.
Input detr(Random& random) {
  const auto list = clusters(random, pick(random, 0, 30), 10, 80);
  Tensor boxes{.shape = {1, list.size(), 4}}, scores{.shape = {1, list.size()}};
  std::vector<float> labels;
  for (const Row& row : list) {
    boxes.values.insert(boxes.values.end(), {row.x1, row.y1, row.x2, row.y2});
    scores.values.push_back(row.score);
    labels.push_back(pick(random, 0, 9) == 0 ? -1 : row.class_id);
  }
  Input input{.tensors = {boxes, scores}};
  input.tensors.push_back(pick(random, 0, 1)
                              ? whole<int64_t>(DataType::kInt64, scores.shape, labels)
                              : whole<int32_t>(DataType::kInt32, scores.shape, labels));
  input.settings.detector = "detr-postprocess";
  input.settings.tensor_ids = {"boxes", "scores", "labels"};
  for (size_t i = 0; i < 3; ++i) input.tensors[i].id = input.settings.tensor_ids[i];
  return input;
}

/// Class and score before the box, rows without a class, and an optional count.
Input paddle(Random& random) {
  const auto list = clusters(random, pick(random, 0, 30), 10, 80);
  Tensor rows{.shape = {list.size(), 6}, .id = "paddle-rows"};
  for (const Row& row : list) {
    const bool none = pick(random, 0, 9) == 0;
    rows.values.insert(rows.values.end(), {none ? -1 : row.class_id, none ? -1 : row.score, row.x1,
                                           row.y1, row.x2, row.y2});
  }
  Input input{.tensors = {rows}};
  if (pick(random, 0, 1)) {
    const float count[] = {float(pick(random, 0, static_cast<int>(list.size()) + 2))};
    input.tensors.push_back(whole<int32_t>(DataType::kInt32, {1}, count));
    input.tensors.back().id = "paddle-count";
  }
  return input;
}

constexpr Family kListFamilies[] = {
    {"queries", "best classes and all of them, no suppression", queries},
    {"pointers", "invalid indices", pointers},
    {"images", "rows of other images", images},
    {"detr", "integers next to floats, negative labels", detr},
    {"paddle", "columns in another order, empty rows, a count", paddle},
};

}  // namespace

std::span<const Family> list_families() { return kListFamilies; }

}  // namespace keepbox::test
