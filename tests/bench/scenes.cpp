// SPDX-License-Identifier: LGPL-2.1-or-later
// Generates noise, objects and false alarms.
#include "tests/bench/scenes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace keepbox::test {
namespace {

constexpr size_t kClasses = 80;
constexpr float kSide = 640;

float drawn(std::mt19937& random, float low, float high) {
  return std::uniform_real_distribution<float>(low, high)(random);
}

float drawn(std::mt19937& random, Range range) { return drawn(random, range.low, range.high); }

struct Writer {
  Tensor& tensor;
  bool planes;
  size_t anchors, channels;

  float& at(size_t anchor, size_t channel) const {
    return tensor.values[planes ? channel * anchors + anchor : anchor * channels + channel];
  }

  /// Sets a box and the score of one class; in rows the objectness is the score and the class is 1.
  void put(size_t anchor, const float (&box)[4], size_t class_id, float score) const {
    for (size_t i = 0; i < 4; ++i) at(anchor, i) = box[i];
    if (!planes) at(anchor, 4) = score;
    at(anchor, (planes ? 4 : 5) + class_id) = planes ? score : 0.98f;
  }
};

/// Scores of noise: of a class in planes; of objectness and its factor in rows.
struct Noise {
  float score, factor;
};

/// Draws the noise of one anchor. Unless quiet, it falls off over decades, like that of detectors.
Noise noise(std::mt19937& random, bool planes, bool quiet) {
  if (quiet) return {9e-4f, 0.02f};
  if (planes) return {std::pow(10.0f, drawn(random, -5, -2.85f)), 0};
  return {std::pow(10.0f, drawn(random, -4.56f, -2)), 0.15f};
}

void fill(std::mt19937& random, const Writer& to, bool quiet) {
  for (size_t a = 0; a < to.anchors; ++a) {
    const Noise high = noise(random, to.planes, quiet);
    for (size_t c = 0; c < to.channels; ++c) {
      const bool score = c >= (to.planes ? 4u : 5u);
      to.at(a, c) = score    ? drawn(random, 0, to.planes ? high.score : high.factor)
                    : c == 4 ? (quiet ? drawn(random, 0, high.score) : high.score)
                    : c < 2  ? drawn(random, 0, kSide)
                             : drawn(random, 8, 200);
    }
  }
}

}  // namespace

Tensor scene(std::mt19937& random, bool planes, size_t anchors, const SceneSize& size) {
  const size_t channels = kClasses + (planes ? 4 : 5);
  Tensor tensor{.values = std::vector<float>(anchors * channels),
                .shape = planes ? Shape{1, channels, anchors} : Shape{1, anchors, channels},
                .id = planes ? "yolo-v8-out" : ""};
  const Writer to{tensor, planes, anchors, channels};
  fill(random, to, size.quiet);
  std::vector<size_t> places(anchors);
  std::iota(places.begin(), places.end(), size_t{0});
  std::ranges::shuffle(places, random);
  size_t next = 0;
  const auto place = [&] { return places[next++ % anchors]; };
  for (size_t o = 0; o < size.objects; ++o) {
    const float box[4] = {drawn(random, 60, 580), drawn(random, 60, 580), drawn(random, 20, 160),
                          drawn(random, 20, 160)};
    const size_t class_id = random() % kClasses;
    for (size_t i = 0; i < size.boxes_each; ++i) {
      float near[4];
      for (size_t k = 0; k < 4; ++k)
        near[k] = box[k] + drawn(random, -0.08f, 0.08f) * box[2 + k % 2];
      to.put(place(), near, class_id, drawn(random, size.object_scores));
    }
  }
  for (size_t i = 0; i < size.alarms; ++i) {
    const float box[4] = {drawn(random, 0, kSide), drawn(random, 0, kSide), drawn(random, 8, 100),
                          drawn(random, 8, 100)};
    const float score = drawn(random, size.alarm_scores);  // arguments have no order
    to.put(place(), box, random() % kClasses, score);
  }
  return tensor;
}

Tensor halved(Tensor tensor) {
  tensor.type = DataType::kFloat16;
  tensor.raw.resize(tensor.values.size() * sizeof(_Float16));
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    const auto half = static_cast<_Float16>(tensor.values[i]);
    std::memcpy(tensor.raw.data() + i * sizeof half, &half, sizeof half);
  }
  return tensor;
}

}  // namespace keepbox::test
