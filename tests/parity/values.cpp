// SPDX-License-Identifier: LGPL-2.1-or-later
// Input families with types other than float32, and with values that are not finite.
#include <cstring>
#include <limits>

#include "tests/parity/makers.h"

namespace keepbox::test {
namespace {

template <class T>
void put(std::vector<std::byte>& to, T value) {
  const size_t at = to.size();
  to.resize(at + sizeof value);
  std::memcpy(to.data() + at, &value, sizeof value);
}

/// Returns the upper half of a float; float16 bits are approximate, because any bits will do.
uint16_t bfloat16_of(float value) { return static_cast<uint16_t>(float_bits(value) >> 16); }
uint16_t half_of(float value) {
  const uint32_t bits = float_bits(value), exponent = (bits >> 23) & 0xff;
  const uint32_t sign = bits >> 16 & 0x8000;
  if (exponent < 113) return static_cast<uint16_t>(sign);
  if (exponent > 142) return static_cast<uint16_t>(sign | 0x7c00);
  return static_cast<uint16_t>(sign | (exponent - 112) << 10 | (bits >> 13 & 0x3ff));
}

void put_as(Tensor& tensor, float value) {
  switch (tensor.type) {
    case DataType::kFloat16: return put(tensor.raw, half_of(value));
    case DataType::kBFloat16: return put(tensor.raw, bfloat16_of(value));
    default: return put(tensor.raw, double{value} * 1.0000001);
  }
}

/// Draws every type of values, in planes and rows, aligned or not.
Input types(Random& random) {
  constexpr DataType kTypes[] = {DataType::kFloat16, DataType::kBFloat16, DataType::kFloat64};
  const bool planes = pick(random, 0, 1);
  Tensor tensor = dense(random, 300, 12, 4, planes, 160);
  tensor.type = kTypes[pick(random, 0, 2)];
  for (const float value : tensor.values) put_as(tensor, value);
  Input input = forced(planes ? "yolov8" : "yolov5", std::move(tensor), 160);
  input.shift = static_cast<size_t>(pick(random, 0, 1) ? pick(random, 1, 9) : 0);
  input.settings.score_threshold = 0.2f;
  return input;
}

/// Replaces one in twenty values by any bits, NaN, or an infinity.
void spoil(Random& random, std::vector<float>& values) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (float& value : values) {
    if (pick(random, 0, 19) != 0) continue;
    const float others[] = {float_from_bits(static_cast<uint32_t>(random())),
                            std::nanf(""),
                            kInfinity,
                            -kInfinity,
                            -0.0f,
                            6e-8f,
                            -value};
    value = others[pick(random, 0, 6)];
  }
}

/// Replaces all values of some anchors by NaN.
void blank_rows(Random& random, Tensor& tensor) {
  const size_t rows = tensor.shape[1], columns = tensor.shape[2];
  for (size_t r = 0; r < rows; ++r)
    if (pick(random, 0, 9) == 0)
      std::fill_n(tensor.values.begin() + static_cast<ptrdiff_t>(r * columns), columns,
                  pick(random, 0, 1) ? std::nanf("") : -std::numeric_limits<float>::infinity());
}

Input any_model(Random& random) {
  constexpr const char* kModels[] = {"yolov8", "yolov5", "yolox-decoded", "ssd", "ssd-softmax"};
  const int model = pick(random, 0, 4);
  const bool planes = model == 0 && pick(random, 0, 1);
  const auto channels = static_cast<size_t>(pick(random, 6, 30));
  if (model < 3)
    return forced(
        kModels[model],
        dense(random, static_cast<size_t>(pick(random, 40, 400)), channels, 4, planes, 160), 160);
  return split(random, kModels[model], pick(random, 0, 1) ? 120 : 4);
}

/// Converts the values to another type, some of them to arbitrary bits.
void convert(Random& random, Tensor& tensor, DataType type) {
  tensor.type = type;
  if (type == DataType::kFloat32) return;
  for (const float value : tensor.values)
    pick(random, 0, 19) || type == DataType::kFloat64
        ? put_as(tensor, value)
        : put(tensor.raw, static_cast<uint16_t>(random()));
}

/// Boxes, scores, classes and a count in separate tensors, the last two of which are optional.
std::vector<Tensor> outputs(Random& random, const std::vector<Row>& list) {
  Tensor boxes{.shape = {1, list.size(), 4}, .id = "Gst.Model.ObjectDetector.Boxes"};
  Tensor scores{.shape = {1, list.size()}, .id = "Gst.Model.ObjectDetector.Scores"};
  Tensor classes{.shape = {1, list.size()}, .id = "Gst.Model.ObjectDetector.Classes"};
  for (const Row& row : list) {
    boxes.values.insert(boxes.values.end(), {row.y1, row.x1, row.y2, row.x2});
    scores.values.push_back(row.score);
    classes.values.push_back(row.class_id);
  }
  std::vector<Tensor> out{boxes, scores};
  if (pick(random, 0, 3)) out.push_back(classes);
  if (pick(random, 0, 1))
    out.push_back({.values = {float(pick(random, 0, static_cast<int>(list.size()) + 2))},
                   .shape = {1},
                   .id = "Gst.Model.ObjectDetector.NumDetections"});
  return out;
}

/// End-to-end rows of every type, aligned or not, with values that are not finite.
Input sorted_out(Random& random) {
  constexpr DataType kTypes[] = {DataType::kFloat16, DataType::kBFloat16, DataType::kFloat32,
                                 DataType::kFloat64};
  constexpr float kThresholds[] = {0.25f, 0, -1};
  const auto list = clusters(random, pick(random, 0, 12), 10, 80);
  Input input = ready(list);
  input.settings.detector = "yolo26";
  if (pick(random, 0, 1)) {
    input.tensors = outputs(random, list);
    input.settings.detector = "ssd-postprocess";
  }
  input.settings.score_threshold = kThresholds[pick(random, 0, 2)];
  if (pick(random, 0, 1)) input.settings.nms_contract = "inclusive";
  if (pick(random, 0, 1)) input.settings.class_thresholds = {{1, 0.5f}, {2, 0.9f}};
  input.shift = static_cast<size_t>(pick(random, 0, 2) ? 0 : pick(random, 1, 9));
  const DataType type = kTypes[pick(random, 0, 3)];
  for (Tensor& tensor : input.tensors) {
    spoil(random, tensor.values);
    convert(random, tensor, type);
  }
  return input;
}

/// Planes of class scores of every type, nearly all of them negative or zero with either sign.
Input below_zero(Random& random) {
  constexpr DataType kTypes[] = {DataType::kFloat16, DataType::kBFloat16, DataType::kFloat32};
  constexpr float kThresholds[] = {0, -0.1f, -1};
  Tensor tensor = dense(random, static_cast<size_t>(pick(random, 40, 200)), 8, 4, true, 160);
  for (size_t i = tensor.values.size() / 2; i < tensor.values.size(); ++i)
    tensor.values[i] =
        pick(random, 0, 3) ? -0.01f * float(pick(random, 0, 9)) : 0.01f * float(pick(random, 0, 1));
  convert(random, tensor, kTypes[pick(random, 0, 2)]);
  Input input = forced("yolov8", std::move(tensor), 160);
  input.settings.score_threshold = kThresholds[pick(random, 0, 2)];
  if (pick(random, 0, 1)) input.settings.nms_contract = "inclusive";
  return input;
}

/// Values that are not finite, of every type, in every model with class scores.
Input any_bits(Random& random) {
  constexpr DataType kTypes[] = {DataType::kFloat16, DataType::kBFloat16, DataType::kFloat32};
  constexpr float kThresholds[] = {0.25f, 0, -1, -1e30f, 7e4f};
  Input input = any_model(random);
  input.settings.score_threshold = kThresholds[pick(random, 0, 4)];
  if (pick(random, 0, 1)) input.settings.nms_contract = "inclusive";
  const DataType type = kTypes[pick(random, 0, 2)];
  for (Tensor& tensor : input.tensors) {
    spoil(random, tensor.values);
    blank_rows(random, tensor);
    convert(random, tensor, type);
  }
  return input;
}

constexpr Family kValueFamilies[] = {
    {"types", "numbers of a type taken for another's", types},
    {"sorted-out", "rows left out by a look at their score alone", sorted_out},
    {"below-zero", "numbers that are not ordered as their bits are", below_zero},
    {"any-bits", "infinities, NaN and the least numbers in any type and model", any_bits},
};

}  // namespace

std::span<const Family> value_families() { return kValueFamilies; }

}  // namespace keepbox::test
