// SPDX-License-Identifier: LGPL-2.1-or-later
// Input families with too many candidates for one block of a GPU, and with types other than
// float32.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

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
  if (pick(random, 0, 3) == 0) input.settings.contract = "onnx";
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
  if (pick(random, 0, 3) == 0) input.settings.contract = "onnx";
  if (pick(random, 0, 5) == 0) input.settings.contract = "opencv";
  return input;
}

/// More candidates than threads per block, for sequential methods and class limits.
Input large_methods(Random& random) {
  Input input =
      ready(crowded(random, pick(random, 900, 2500), pick(random, 1, 4), uniform(random, 100, 400)),
            uniform(random, 0.2f, 0.7f));
  Settings& settings = input.settings;
  settings.score_threshold = uniform(random, 0.1f, 0.3f);
  settings.method = pick(random, 0, 3) ? other_method(random) : NmsMethod::kGreedy;
  settings.class_agnostic = pick(random, 0, 1);
  settings.max_detections = pick(random, 0, 1) ? 300 : 3000;
  if (pick(random, 0, 1)) settings.class_top_k = static_cast<uint32_t>(pick(random, 1, 400));
  const auto each = static_cast<uint32_t>(pick(random, 1, 1500));
  if (pick(random, 0, 1)) settings.pre_nms_class_top_k = each;
  if (pick(random, 0, 2) == 0) settings.contract = "faster-rcnn";
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
  input.settings.contract = kContracts[contract];
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
  input.settings.contract = kContracts[pick(random, 0, 3)];
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
  if (pick(random, 0, 1)) input.settings.contract = "inclusive";
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
  if (pick(random, 0, 1)) input.settings.contract = "inclusive";
  return input;
}

/// Values that are not finite, of every type, in every model with class scores.
Input any_bits(Random& random) {
  constexpr DataType kTypes[] = {DataType::kFloat16, DataType::kBFloat16, DataType::kFloat32};
  constexpr float kThresholds[] = {0.25f, 0, -1, -1e30f, 7e4f};
  Input input = any_model(random);
  input.settings.score_threshold = kThresholds[pick(random, 0, 4)];
  if (pick(random, 0, 1)) input.settings.contract = "inclusive";
  const DataType type = kTypes[pick(random, 0, 2)];
  for (Tensor& tensor : input.tensors) {
    spoil(random, tensor.values);
    blank_rows(random, tensor);
    convert(random, tensor, type);
  }
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
    {"types", "numbers of a type taken for another's", types},
    {"sorted-out", "rows left out by a look at their score alone", sorted_out},
    {"below-zero", "numbers that are not ordered as their bits are", below_zero},
    {"any-bits", "infinities, NaN and the least numbers in any type and model", any_bits},
};

}  // namespace

std::span<const Family> crowd_families() { return kCrowdFamilies; }

}  // namespace keepbox::test
