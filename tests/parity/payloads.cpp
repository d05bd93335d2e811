// SPDX-License-Identifier: LGPL-2.1-or-later
// Inputs with keypoints and masks.
#include <cmath>

#include "core/formula/numeric.h"
#include "tests/parity/makers.h"

namespace keepbox::test {
namespace {

Tensor numbers(Random& random, Shape shape, float low, float high) {
  Tensor out{.shape = shape};
  const size_t count = shape.count().value_or(0);
  for (size_t i = 0; i < count; ++i) {
    float value = uniform(random, low, high);
    if (pick(random, 0, 3000) == 0) value = std::nanf("");
    if (pick(random, 0, 3000) == 0) value = INFINITY;
    out.values.push_back(value);
  }
  return out;
}

/// Converts to float16.
Tensor halved(const Tensor& from) {
  Tensor out{.shape = from.shape, .id = from.id, .type = DataType::kFloat16};
  for (const float value : from.values) {
    const uint16_t half = float_to_half(value);
    const auto* bytes = reinterpret_cast<const std::byte*>(&half);
    out.raw.insert(out.raw.end(), bytes, bytes + sizeof half);
  }
  return out;
}

/// A frame with another aspect ratio than the model input, sometimes with a letterbox or cropped.
Input input_of(Random& random, const char* detector) {
  Input input;
  input.settings.frame.size = {uint32_t(pick(random, 40, 200)), uint32_t(pick(random, 40, 200))};
  input.settings.model_size = {kWidth, kHeight};
  input.settings.units = Units::kAuto;
  const ResizeMode modes[] = {ResizeMode::kStretch, ResizeMode::kLetterboxCenter,
                              ResizeMode::kCrop};
  input.settings.resize_mode = modes[pick(random, 0, 2)];
  input.settings.detector = detector;
  input.settings.score_threshold = 0.3f;
  return input;
}

/// Boxes, some outside of the input, and scores that rarely pass, before other values.
Tensor with_boxes(Random& random, size_t images, size_t anchors, size_t channels, size_t classes,
                  bool planes, float low, float high) {
  Tensor out =
      numbers(random, planes ? Shape{images, channels, anchors} : Shape{images, anchors, channels},
              low, high);
  for (size_t image = 0; image < images; ++image)
    for (size_t a = 0; a < anchors; ++a) {
      const auto at = [&](size_t channel) -> float& {
        return out.values[image * anchors * channels +
                          (planes ? channel * anchors + a : a * channels + channel)];
      };
      at(0) = uniform(random, -10, kWidth + 10), at(1) = uniform(random, -10, kHeight + 10);
      at(2) = uniform(random, 2, 70), at(3) = uniform(random, 2, 70);
      for (size_t c = 0; c < classes; ++c) at(4 + c) = uniform(random, 0, 0.34f);
    }
  return out;
}

/// Poses with any number of keypoints of two or three values, also in end-to-end rows.
Input points(Random& random) {
  const size_t each = size_t(pick(random, 2, 3)), count = size_t(pick(random, 1, 21));
  const bool ready = pick(random, 0, 3) == 0;
  Input input = input_of(random, ready ? "yolo26-pose" : "yolov8-pose");
  if (pick(random, 0, 2) == 0) input.settings.nms_contract = "ultralytics";
  const size_t classes = ready ? 2 : size_t(pick(random, 1, 3));
  input.settings.num_classes = ready ? 0 : uint32_t(classes);
  const size_t anchors = ready ? 40 : 126, images = size_t(pick(random, 1, 2));
  input.tensors = {with_boxes(random, images, anchors, 4 + classes + each * count, classes,
                              !ready && pick(random, 0, 1), each == 3 ? 0 : -20,
                              each == 3 ? 1 : 120)};
  if (ready) {
    input.settings.units = Units::kPixels;
    for (size_t a = 0; a < anchors * images; ++a) {
      float* row = input.tensors[0].values.data() + a * (6 + each * count);
      row[2] += row[0], row[3] += row[1], row[4] = uniform(random, 0, 1), row[5] = float(a % 3);
    }
  }
  if (pick(random, 0, 3) == 0) input.tensors[0] = halved(input.tensors[0]);
  return input;
}

/// Keypoints in separate tensors, relative to cells, priors and boxes.
Input landmarks(Random& random) {
  const char* names[] = {"scrfd", "yunet", "retinaface", "centerface", "blazeface"};
  const int which = pick(random, 0, 4);
  Input input = input_of(random, names[which]);
  input.settings.nms_contract = "exact";
  const auto cells = [](uint32_t stride) { return size_t{kWidth / stride} * (kHeight / stride); };
  const auto add = [&](Shape shape, float low, float high, std::string id = {}) {
    input.tensors.push_back(numbers(random, shape, low, high));
    input.tensors.back().id = std::move(id);
  };
  const size_t all = cells(8) + cells(16) + cells(32);
  switch (which) {
    case 2:
      add({1, 2 * all, 4}, -1, 1);
      add({1, 2 * all, 2}, 0, 0.4f);
      add({1, 2 * all, 10}, -2, 2);
      return input;
    case 3:
      add({1, 1, kHeight / 4, kWidth / 4}, 0, 0.35f);
      add({1, 2, kHeight / 4, kWidth / 4}, 0, 2);
      add({1, 2, kHeight / 4, kWidth / 4}, 0, 1);
      add({1, 10, kHeight / 4, kWidth / 4}, -0.5f, 1.5f);
      return input;
    case 4:
      add({1, 2 * cells(8) + 6 * cells(16), 16}, -20, 40);
      add({1, 2 * cells(8) + 6 * cells(16), 1}, -4, 0.5f);
      return input;
    default: break;
  }
  const size_t slots = which == 0 ? 2 : 1;
  for (const uint32_t stride : {8, 16, 32}) {
    const std::string at = std::to_string(stride);
    const size_t anchors = slots * cells(stride);
    if (which == 0) add({1, anchors, 1}, 0, 0.4f, "score_" + at);
    if (which == 1)
      add({1, anchors, 1}, 0, 0.5f, "cls_" + at), add({1, anchors, 1}, 0, 0.5f, "obj_" + at);
    add({1, anchors, 4}, which == 0 ? 0 : -1, which == 0 ? 3 : 1.5f, "bbox_" + at);
    add({1, anchors, 10}, -3, 3, "kps_" + at);
  }
  return input;
}

/// @param coefficients per box. @param maps size of the prototypes.
Input masked(Random& random, size_t coefficients, Size maps, size_t anchors) {
  const size_t classes = size_t(pick(random, 1, 4)), images = size_t(pick(random, 1, 2));
  const bool planes = pick(random, 0, 1) != 0;
  Input input = input_of(random, "yolov8-seg");
  input.settings.units = Units::kPixels;
  input.settings.num_classes = uint32_t(classes);
  if (pick(random, 0, 1)) input.settings.mask_size = MaskSize::kFrame;
  input.tensors = {with_boxes(random, images, anchors, 4 + classes + coefficients, classes,
                              pick(random, 0, 1) != 0, -1, 1),
                   numbers(random,
                           planes ? Shape{images, coefficients, maps.height, maps.width}
                                  : Shape{images, maps.height, maps.width, coefficients},
                           -1, 1)};
  if (pick(random, 0, 2) == 0)
    for (Tensor& tensor : input.tensors) tensor = halved(tensor);
  else if (pick(random, 0, 1)) input.shift = 1;
  return input;
}

/// Prototypes of few and many maps, wide and narrow.
Input masks(Random& random) {
  const size_t coefficients[] = {1, 5, 31, 32, 33, 64};
  const Size sizes[] = {{24, 16}, {48, 32}, {33, 7}, {160, 160}, {96, 64}};
  const size_t maps = coefficients[pick(random, 0, 5)];
  return masked(random, maps, sizes[pick(random, 0, 4)], 126);
}

/// Sums close to 0, where rounding decides.
Input mask_edges(Random& random) {
  Input input = masked(random, 32, {48, 32}, 60);
  for (Tensor& tensor : input.tensors) {
    if (tensor.type != DataType::kFloat32) continue;
    const bool prototypes = &tensor != &input.tensors[0];
    for (float& value : tensor.values)
      if (prototypes) value = std::round(value * 4) * 0.1f;
  }
  if (input.tensors[0].type != DataType::kFloat32) return input;
  // Pairs of coefficients that cancel except for rounding.
  const auto dims = input.tensors[0].shape.dims();
  const bool planes = dims[2] == 60;
  const size_t anchors = 60, channels = planes ? dims[1] : dims[2], first = channels - 32;
  for (size_t i = 0; i < dims[0] * anchors; ++i)
    for (size_t c = 0; c < 32; ++c) {
      const size_t image = i / anchors, a = i % anchors, channel = first + c;
      input.tensors[0].values[image * anchors * channels +
                              (planes ? channel * anchors + a : a * channels + channel)] =
          (c % 2 ? -0.1f : 0.1f) * float(1 + (a + c / 2) % 3);
    }
  return input;
}

/// Frames narrower than the prototypes, and wider than a block of the vector code.
Input frame_masks(Random& random) {
  const Size maps[] = {{24, 16}, {48, 32}, {33, 7}, {160, 160}, {2400, 3}, {5, 600}};
  const Size frames[] = {{64, 48}, {640, 480}, {517, 130}, {1300, 90}, {40, 1100}, {33, 29}};
  Input input = masked(random, size_t(pick(random, 1, 9)), maps[pick(random, 0, 5)], 30);
  input.settings.mask_size = MaskSize::kFrame;
  input.settings.frame.size = frames[pick(random, 0, 5)];
  return input;
}

/// Interpolated sums close to 0, where rounding decides: each frame pixel has a tenth of a
/// prototype pixel, whose values are tenths of whole numbers along x.
Input frame_mask_edges(Random& random) {
  Input input = masked(random, 1, {24, 16}, 30);
  input.settings.mask_size = MaskSize::kFrame;
  input.settings.frame.size = {240, 160};
  input.settings.resize_mode = ResizeMode::kStretch;
  const bool planes = pick(random, 0, 1) != 0;
  const size_t images = input.tensors[0].shape.dims()[0];
  const size_t channels = 4 + input.settings.num_classes + 1;
  input.tensors[0] =
      with_boxes(random, images, 30, channels, input.settings.num_classes, planes, 1, 1);
  input.tensors[1] = numbers(random, Shape{images, 1, 16, 24}, -1, 1);
  for (size_t i = 0; i < input.tensors[1].values.size(); ++i)
    input.tensors[1].values[i] =
        i % (16 * 24) < 24 ? float(pick(random, -4, 4)) * 0.1f : input.tensors[1].values[i - 24];
  return input;
}

constexpr Family kPayloadFamilies[] = {
    {"points", "points of other anchors, their units, order and number, clipped or not", points},
    {"landmarks", "points from cells, priors and boxes, in separate tensors", landmarks},
    {"masks", "places, sizes, types and numbers of prototypes", masks, 2},
    {"mask-edges", "sums close to 0", mask_edges, 2},
    {"frame-masks", "masks enlarged to small, wide and high frames", frame_masks, 2},
    {"frame-mask-edges", "interpolated sums close to 0", frame_mask_edges, 2},
};

}  // namespace

std::span<const Family> payload_families() { return kPayloadFamilies; }

}  // namespace keepbox::test
