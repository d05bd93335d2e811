// SPDX-License-Identifier: LGPL-2.1-or-later
// Values of a frame's tensors.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/fuzz/frames/frame.h"

namespace keepbox::fuzz {
namespace {

/// Numbers that depend only on a seed and two indices.
struct Dice {
  uint64_t seed;

  /// Returns a number in 0..1.
  float at(uint64_t a, uint64_t b) const {
    uint64_t x = seed * 0x9e3779b97f4a7c15u + a * 0xbf58476d1ce4e5b9u + b * 0x94d049bb133111ebu;
    x = (x ^ (x >> 31)) * 0xd6e8feb86659fd93u;
    return static_cast<float>((x ^ (x >> 32)) & 0xffffff) / 16777216.0f;
  }
};

/// The style of a tensor's values.
struct Style {
  Dice dice{};
  float side = 64;     // of the picture, in the units of the values
  uint32_t odd = 0;    // per 1000 values
  uint32_t steps = 0;  // values are multiples of 1 / steps; 0: any
  float min_logit = -8;
  uint32_t crowd = 3;  // anchors around each object
  size_t anchors = 0, images = 1;
};

/// Returns one of a box's four values: some anchors share an object and are around it.
float box_number(const Style& style, BoxCoding coding, size_t anchor, size_t which) {
  const size_t thing = anchor / style.crowd;
  const auto center = [&](size_t axis) {
    return (style.dice.at(thing, 90 + axis) + 0.1f * (style.dice.at(anchor, axis) - 0.5f)) *
           style.side;
  };
  const auto size = [&](size_t axis) {
    const float own = 0.1f * style.dice.at(anchor, 2 + axis);
    return (0.02f + 0.3f * style.dice.at(thing, 92 + axis) + own) * style.side;
  };
  const size_t axis = which % 2;
  switch (coding) {
    case BoxCoding::kCenterSize: return which < 2 ? center(axis) : size(axis);
    case BoxCoding::kTopLeftSize: return which < 2 ? center(axis) - size(axis) / 2 : size(axis);
    case BoxCoding::kCorners: return center(axis) + (which < 2 ? -0.5f : 0.5f) * size(axis);
    case BoxCoding::kDistances: return 3 * style.dice.at(anchor, which);
    case BoxCoding::kGridSize: return which < 2 ? style.dice.at(anchor, which) : 1 + size(axis) / 4;
    case BoxCoding::kGridPixels: return which < 2 ? 8 * style.dice.at(anchor, which) : size(axis);
    case BoxCoding::kGridExp:
    case BoxCoding::kGridSigmoid:
    case BoxCoding::kGridDarknet:
    case BoxCoding::kDistanceBins:
    case BoxCoding::kPriorDelta: break;
  }
  return 3 * style.dice.at(anchor, which) - 1.5f;
}

float score_number(const Style& style, const DetectorSpec& spec, size_t anchor, size_t channel) {
  const float chance = style.dice.at(anchor, channel + 7);
  if (spec.activation == Activation::kNone) return chance * chance * chance;
  return style.min_logit + chance * (4 - style.min_logit);
}

enum class What { kBox, kScore, kId, kImage, kAngle, kMore };

/// Returns the meaning of a column in a tensor with all values.
What column_of(const DetectorSpec& spec, size_t channel, uint32_t classes, size_t& of_box) {
  const Columns& c = spec.columns;
  const auto column = static_cast<ptrdiff_t>(channel);
  const ptrdiff_t box = c.box_last ? c.classes + static_cast<ptrdiff_t>(classes) : c.box;
  of_box = channel - static_cast<size_t>(box);
  if (column >= box && column < box + 4 * spec.bins) return What::kBox;
  if (column == c.objectness || column == c.score) return What::kScore;
  if (column == c.class_id) return What::kId;
  if (column == c.image) return What::kImage;
  if (column == c.angle) return What::kAngle;
  const bool score =
      c.classes >= 0 && column >= c.classes && column < c.classes + static_cast<ptrdiff_t>(classes);
  return score ? What::kScore : spec.payload == Payload::kAngle ? What::kAngle : What::kMore;
}

float column_number(const Style& style, const Plane& plane, size_t anchor, size_t channel) {
  const DetectorSpec& spec = *plane.spec;
  size_t of_box = 0;
  switch (column_of(spec, channel, plane.classes, of_box)) {
    case What::kBox:
      return spec.bins > 1 ? 8 * style.dice.at(anchor, channel) - 4
                           : box_number(style, spec.coding, anchor, of_box);
    case What::kScore: return score_number(style, spec, anchor, channel);
    case What::kId: return std::floor(style.dice.at(anchor, 5) * static_cast<float>(plane.classes));
    case What::kImage: return std::floor(style.dice.at(anchor / 4, 6) * 2.2f);
    case What::kAngle: return 6 * style.dice.at(anchor, 4) - 3;
    case What::kMore: break;
  }
  return (style.dice.at(anchor, channel) - 0.3f) * style.side;
}

/// Returns image, class or anchor in a row of indices.
float index_number(const Style& style, const Plane& plane, size_t row, size_t channel) {
  const size_t most[] = {style.images, plane.classes, style.anchors};
  const float chance = style.dice.at(row, channel);
  return std::floor(chance * 1.05f * static_cast<float>(most[channel % 3]));
}

float number_at(const Style& style, const Plane& plane, size_t index) {
  const size_t anchor = plane.anchor(index), channel = plane.channel(index);
  const DetectorSpec& spec = *plane.spec;
  if (plane.prototypes) return 2 * style.dice.at(anchor, channel) - 1;
  switch (plane.role) {
    case Role::kAll: return column_number(style, plane, anchor, channel);
    case Role::kBoxes:
      return spec.bins > 1 ? 8 * style.dice.at(anchor, channel) - 4
                           : box_number(style, spec.coding, anchor, channel);
    case Role::kSizes: return box_number(style, spec.coding, anchor, channel + 2);
    case Role::kClasses:
      return std::floor(style.dice.at(anchor, 5) * static_cast<float>(plane.classes));
    case Role::kCount:
      return std::floor(style.dice.at(anchor, 5) * static_cast<float>(style.anchors + 2));
    case Role::kIndices: return index_number(style, plane, anchor, channel);
    case Role::kKeypoints: return 3 * style.dice.at(anchor, channel) - 1;
    case Role::kScores:
    case Role::kObjectness:
    case Role::kUnread: break;
  }
  return score_number(style, spec, anchor, channel);
}

template <class T>
void put_as(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// Stores the nearest integer of a type.
template <class T>
void put_whole(std::byte* to, float value) {
  const double least = static_cast<double>(std::numeric_limits<T>::min());
  // slightly less at the upper end if the type has more bits than a double
  constexpr T kMore = sizeof(T) > 4 ? 4096 : 0;
  const double most = static_cast<double>(std::numeric_limits<T>::max() - kMore);
  const double whole = std::isnan(value) ? 0 : std::round(double{value});
  put_as(to, static_cast<T>(std::clamp(whole, least, most)));
}

/// @param value in the tensor's own units.
void put(DataType type, std::byte* to, float value) {
  switch (type) {
    case DataType::kInt8: return put_whole<int8_t>(to, value);
    case DataType::kInt16: return put_whole<int16_t>(to, value);
    case DataType::kInt32: return put_whole<int32_t>(to, value);
    case DataType::kInt64: return put_whole<int64_t>(to, value);
    case DataType::kUInt8: return put_whole<uint8_t>(to, value);
    case DataType::kUInt16: return put_whole<uint16_t>(to, value);
    case DataType::kUInt32: return put_whole<uint32_t>(to, value);
    case DataType::kUInt64: return put_whole<uint64_t>(to, value);
    case DataType::kFloat16: return put_as(to, float_to_half(value));
    case DataType::kBFloat16:
      return put_as(to, static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
    case DataType::kFloat64: return put_as(to, double{value});
    case DataType::kFloat32: break;
  }
  put_as(to, value);
}

void fill(Tensor& tensor, const Plane& plane, const Style& style) {
  const size_t each = size_of(tensor.type), count = tensor.bytes / each;
  std::byte* to = tensor.memory.get() + tensor.shift;
  const float step = style.steps == 0 ? 0 : 1 / static_cast<float>(style.steps);
  for (size_t i = 0; i < count; ++i) {
    float value = number_at(style, plane, i);
    if (style.steps != 0) value = std::round(value / step) * step;
    if (style.odd != 0 && style.dice.at(i, 1000) * 1000 < static_cast<float>(style.odd)) {
      const auto bits = static_cast<uint32_t>(style.dice.at(i, 1001) * 16777216.0f);
      const uint8_t drawn[] = {255, static_cast<uint8_t>(bits)};
      Input few(drawn);
      value = few.number();
    }
    put(tensor.type, to + i * each, value / tensor.scale + tensor.zero_point);
  }
}

/// Changes some single values, which an input can control one by one.
void patch(Input& input, Tensor& tensor) {
  const size_t each = size_of(tensor.type), count = tensor.bytes / each;
  if (count == 0) return;
  for (uint32_t left = input.below(6); left > 0; --left) {
    const size_t at = input.below(static_cast<uint32_t>(std::min<size_t>(count, 1u << 24)));
    put(tensor.type, tensor.memory.get() + tensor.shift + at * each, input.number());
  }
}

}  // namespace

void fill(Input& input, Frame& frame) {
  static constexpr uint32_t kOdd[] = {0, 0, 0, 0, 0, 1, 5, 50, 500};
  static constexpr uint32_t kSteps[] = {0, 0, 0, 0, 0, 2, 8, 64};
  Style style{.dice = {input.below(1u << 16)},
              .side = static_cast<float>(std::max(frame.model.width, 1u)),
              .odd = input.pick(kOdd),
              .steps = input.pick(kSteps),
              .min_logit = -1.0f - static_cast<float>(input.below(12)),
              .crowd = input.between(1, 6),
              .anchors = frame.anchors};
  const bool fractions = input.chance(30);
  for (size_t i = 0; i < frame.tensors.size(); ++i) {
    const Plane& plane = frame.planes[i];
    Style own = style;
    if (plane.spec->units == Units::kNormalized || (fractions && plane.spec->units == Units::kAuto))
      own.side = 1;
    own.dice.seed += 77 * i;
    fill(frame.tensors[i], plane, own);
    patch(input, frame.tensors[i]);
  }
}

}  // namespace keepbox::fuzz
