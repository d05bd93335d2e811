// SPDX-License-Identifier: LGPL-2.1-or-later
// Generates raw heads, heat maps and quantised planes.
#include "tests/bench/family_frames.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/bench/scenes.h"

namespace keepbox::test {
namespace {

using Random = std::mt19937;

float uniform(Random& random, float low, float high) {
  return std::uniform_real_distribution<float>(low, high)(random);
}

constexpr size_t kObjects = 40;

/// Noise in maps 1 x channels x side x side.
Tensor noise(Random& random, size_t channels, size_t side, float low, float high) {
  Tensor out{.shape = {1, channels, side, side}};
  out.values.resize(channels * side * side);
  for (float& value : out.values) value = uniform(random, low, high);
  return out;
}

/// Raises some channels at cells of that many objects. @param raise called with (tensor, channel,
/// cell).
template <class Raise>
void place(Random& random, size_t side, size_t objects, Raise raise) {
  for (size_t i = 0; i < objects; ++i) {
    const size_t x = random() % (side - 1), y = random() % (side - 1);
    for (const size_t cell : {y * side + x, y * side + x + 1, (y + 1) * side + x}) raise(cell);
  }
}

std::vector<Tensor> anchored(Random& random) {
  std::vector<Tensor> out;
  for (const size_t side : {80, 40, 20}) {
    Tensor maps = noise(random, 255, side, -9, -6);
    const size_t cells = side * side;
    for (size_t anchor = 0; anchor < 3; ++anchor) {
      for (size_t i = 0; i < 4 * cells; ++i)
        maps.values[anchor * 85 * cells + i] = uniform(random, -1, 1);
      place(random, side, kObjects / 9 + 1, [&](size_t cell) {
        float* first = maps.values.data() + anchor * 85 * cells + cell;
        first[4 * cells] = uniform(random, 0, 3);
        first[(5 + random() % 80) * cells] = uniform(random, 0, 3);
      });
    }
    out.push_back(std::move(maps));
  }
  return out;
}

std::vector<Tensor> binned(Random& random) {
  std::vector<Tensor> out;
  for (const size_t side : {80, 40, 20}) {
    Tensor maps = noise(random, 144, side, -9, -6);
    const size_t cells = side * side;
    for (size_t i = 0; i < 64 * cells; ++i) maps.values[i] = uniform(random, -2, 4);
    place(random, side, kObjects / 3 + 1, [&](size_t cell) {
      maps.values[(64 + random() % 80) * cells + cell] = uniform(random, -0.5f, 3);
    });
    out.push_back(std::move(maps));
  }
  return out;
}

std::vector<Tensor> heat(Random& random) {
  constexpr size_t kSide = 128, kCells = kSide * kSide;
  Tensor scores = noise(random, 80, kSide, -9, -6);
  place(random, kSide, kObjects, [&](size_t cell) {
    scores.values[random() % 80 * kCells + cell] = uniform(random, -0.5f, 3);
  });
  return {std::move(scores), noise(random, 2, kSide, 2, 30), noise(random, 2, kSide, 0, 1)};
}

constexpr size_t kMasked = 100, kCoefficients = 32, kMaskedAnchors = 8400;

/// A hundred boxes with that side, without suppression, and optionally prototypes of 160x160.
std::vector<Tensor> masked(Random& random, float side, bool maps) {
  Tensor planes{.shape = {1, 84 + kCoefficients, kMaskedAnchors}};
  planes.values.assign((84 + kCoefficients) * kMaskedAnchors, 0);
  for (size_t i = 0; i < kMasked; ++i) {
    const size_t anchor = i * kMaskedAnchors / kMasked;
    const auto at = [&](size_t channel) -> float& {
      return planes.values[channel * kMaskedAnchors + anchor];
    };
    at(0) = uniform(random, side / 2, 640 - side / 2),
    at(1) = uniform(random, side / 2, 640 - side / 2);
    at(2) = at(3) = side;
    at(4 + i % 80) = uniform(random, 0.3f, 0.9f);
    for (size_t c = 0; c < kCoefficients; ++c) at(84 + c) = uniform(random, -1, 1);
  }
  std::vector<Tensor> out{std::move(planes)};
  if (maps) out.push_back(noise(random, kCoefficients, 160, -1, 1));
  return out;
}

std::vector<Tensor> poses(Random& random) {
  const Tensor planes = scene(random, true, 8400, kStreet);
  Tensor out{.shape = {1, 56, 8400}};
  out.values.assign(planes.values.begin(), planes.values.begin() + 5 * 8400);
  for (size_t i = 5 * 8400; i < planes.values.size(); ++i) {
    float& score = out.values[4 * 8400 + i % 8400];
    score = std::max(score, planes.values[i]);
  }
  for (size_t i = 0; i < size_t{51} * 8400; ++i) out.values.push_back(uniform(random, 0, 1));
  return {std::move(out)};
}

/// Converts coordinates and scores in 0..1 to steps of 1/255.
Tensor in_bytes(Tensor tensor) {
  constexpr float kSpan = 640;
  constexpr size_t kAnchors = 8400;
  tensor.raw.resize(tensor.values.size());
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    const float value = tensor.values[i] / (i < 4 * kAnchors ? kSpan : 1);
    const auto stored =
        static_cast<int8_t>(std::clamp(std::round(value * 255), 0.0f, 255.0f) - 128);
    std::memcpy(tensor.raw.data() + i, &stored, 1);
  }
  tensor.values.clear();
  tensor.type = DataType::kInt8;
  tensor.scale = 1.0f / 255;
  tensor.zero_point = -128;
  return tensor;
}

/// Planes of 15 classes and an angle: 100 objects with 12 anchors each.
std::vector<Tensor> oriented(Random& random) {
  constexpr size_t kAnchors = 21504, kClasses = 15;
  Tensor out{.shape = {1, 4 + kClasses + 1, kAnchors}};
  out.values.resize((4 + kClasses + 1) * kAnchors);
  const auto at = [&](size_t channel, size_t anchor) -> float& {
    return out.values[channel * kAnchors + anchor];
  };
  for (size_t a = 0; a < kAnchors; ++a) {
    for (size_t i = 0; i < 4; ++i) at(i, a) = uniform(random, 10, i < 2 ? 1014 : 120);
    for (size_t c = 0; c < kClasses; ++c) at(4 + c, a) = uniform(random, 0, 0.02f);
    at(4 + kClasses, a) = uniform(random, -0.7f, 2.3f);
  }
  for (size_t thing = 0; thing < 100; ++thing) {
    const size_t first = random() % (kAnchors - 12), id = random() % kClasses;
    for (size_t a = first; a < first + 12; ++a) {
      for (const size_t i : {0, 1, 2, 3, 4 + static_cast<int>(kClasses)})
        at(i, a) = at(i, first) * uniform(random, 0.98f, 1.02f);
      at(4 + id, a) = uniform(random, 0.3f, 0.95f);
    }
  }
  return {std::move(out)};
}

Settings settings_of(const char* detector, uint32_t side = 640) {
  Settings settings = pixel_settings(side);
  settings.units = Units::kAuto;
  settings.detector = detector;
  settings.score_threshold = 0.25f;
  return settings;
}

template <class Make>
FamilyFrames frames(std::string name, Settings settings, size_t count, Make make) {
  FamilyFrames out{std::move(name), std::move(settings), {}};
  Random random(7);
  for (size_t i = 0; i < count; ++i) out.frames.push_back(make(random));
  return out;
}

/// Adds the same boxes without masks, with masks of a quarter of the input's side and of the whole
/// side, and in frame resolution.
void add_masked(std::vector<FamilyFrames>& out, size_t count) {
  Settings settings = settings_of("yolov8-seg");
  settings.units = Units::kPixels;
  settings.nms_method = NmsMethod::kNone;
  const auto add = [&](std::string name, float side) {
    out.push_back(frames(std::move(name), settings, count, [&](Random& random) {
      return masked(random, side, settings.mask_size != MaskSize::kNone);
    }));
  };
  settings.mask_size = MaskSize::kNone;
  add("116x8400, 100 boxes, no masks", 160);
  settings.mask_size = MaskSize::kPrototypes;
  add("the same, masks 40x40 of 32x160x160", 160);
  add("the same, masks 160x160", 640);
  settings.mask_size = MaskSize::kFrame;
  settings.frame.size = {1280, 1280};
  add("the same, masks 320x320 of the frame", 160);
}

}  // namespace

std::vector<FamilyFrames> family_frames(size_t count) {
  const auto street = [](Random& random) {
    return std::vector<Tensor>{scene(random, true, 8400, kStreet)};
  };
  std::vector<FamilyFrames> out;
  out.push_back(frames("heads 3x255, YOLOv5", settings_of("yolov5-heads"), count, anchored));
  out.push_back(frames("heads 144, YOLOv8", settings_of("yolov8-heads"), count, binned));
  out.push_back(frames("heat map 80x128x128", settings_of("centernet", 512), count, heat));
  out.push_back(frames("84x8400 int8, street", settings_of("yolov8-normalized"), count,
                       [&](Random& random) -> std::vector<Tensor> {
                         return {in_bytes(std::move(street(random)[0]))};
                       }));
  Settings labels = settings_of("yolov8");
  labels.multi_label = true;
  out.push_back(frames("84x8400, street, multi-label", labels, count, street));
  Settings pose = settings_of("yolov8-pose");
  pose.keypoints = false;
  out.push_back(frames("56x8400, pose, no points", pose, count, poses));
  pose.keypoints = true;
  out.push_back(frames("the same, 17 points", pose, count, poses));
  add_masked(out, count);
  Settings polygons = settings_of("yolov8-obb", 1024);
  out.push_back(frames("20x21504, oriented, probIoU", polygons, count, oriented));
  polygons.nms_contract = "exact";
  out.push_back(frames("20x21504, oriented, polygons", polygons, count, oriented));
  return out;
}

}  // namespace keepbox::test
