// SPDX-License-Identifier: LGPL-2.1-or-later
// Generates the frames.
#include <format>
#include <functional>
#include <random>

#include "core/run/processor.h"
#include "tests/bench/cpu.h"
#include "tests/bench/family_frames.h"
#include "tests/bench/scenes.h"

namespace keepbox::test {
namespace {

using Random = std::mt19937;

float inside(Random& random, float low, float high) {
  return std::uniform_real_distribution<float>(low, high)(random);
}

Settings settings_of(Kind kind, float threshold) {
  constexpr const char* kFamilies[] = {"yolov8", "yolov5", "yolov10", "ssd", "yolov10"};
  Settings settings = pixel_settings();
  settings.detector = kFamilies[static_cast<int>(kind)];
  settings.score_threshold = threshold;
  settings.iou_threshold = kIou;
  settings.max_detections = kMax;
  return settings;
}

std::vector<Row> random_rows(Random& random, size_t count, float span, unsigned classes) {
  std::vector<Row> out;
  for (size_t i = 0; i < count; ++i) {
    const float x = inside(random, 0, span), y = inside(random, 0, span);
    out.push_back({x, y, x + inside(random, 10, 100), y + inside(random, 10, 100),
                   inside(random, 0, 1), static_cast<float>(random() % classes)});
  }
  return out;
}

/// Logits of 90 classes with background first: one anchor in forty is an object.
std::vector<Tensor> ssd_frame(Random& random) {
  constexpr size_t kAnchors = 1917, kScores = 91;
  Tensor deltas{.values = {}, .shape = {1, kAnchors, 4}, .id = {}};
  Tensor logits{.values = {}, .shape = {1, kAnchors, kScores}, .id = {}};
  for (size_t a = 0; a < kAnchors; ++a) {
    for (int i = 0; i < 4; ++i) deltas.values.push_back(inside(random, -1, 1));
    for (size_t c = 0; c < kScores; ++c)
      logits.values.push_back(a % 40 == 0 && c == 1 + a % 7 ? 2.0f : inside(random, -9, -7));
  }
  return {std::move(deltas), std::move(logits)};
}

std::vector<Prior> random_priors(Random& random, size_t count) {
  std::vector<Prior> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back({inside(random, 0.1f, 0.9f), inside(random, 0.1f, 0.9f), 0.2f, 0.2f});
  return out;
}

Input finished(Input input, const std::function<std::vector<Tensor>()>& frame) {
  for (size_t i = 0; i < kTurns; ++i) input.frames.push_back(frame());
  for (const auto& tensors : input.frames) {
    std::vector<TensorView> views;
    for (const Tensor& tensor : tensors) views.push_back(tensor.view());
    auto processor = make_processor(input.settings, views);
    (void)processor->run(views);
    input.candidates += processor->funnel().above_threshold;
  }
  input.candidates /= kTurns;
  return input;
}

}  // namespace

Input ordinary(Kind kind, float threshold, bool flushed) {
  constexpr const char* kNames[] = {"84x8400", "25200x85", "1x300x6", "SSD 1917x91"};
  Random random(1);
  Input input{.name = std::format("{}, score > {}{}", kNames[static_cast<int>(kind)], threshold,
                                  flushed ? ", caches flushed" : ""),
              .kind = kind,
              .settings = settings_of(kind, threshold),
              .frames = {},
              .flushed = flushed};
  if (kind == Kind::kSsd) input.settings.priors = random_priors(random, 1917);
  return finished(std::move(input), [&]() -> std::vector<Tensor> {
    switch (kind) {
      case Kind::kPlanes: return {scene(random, true, 8400, {})};
      case Kind::kRows: return {scene(random, false, 25200, {})};
      case Kind::kSsd: return ssd_frame(random);
      default: return {rows(random_rows(random, 300, 500, 80))};
    }
  });
}

Input halved(Input input) {
  input.name += ", float16";
  for (auto& tensors : input.frames)
    for (Tensor& tensor : tensors) tensor = halved(std::move(tensor));
  return input;
}

Input crowded(Kind kind, size_t candidates) {
  constexpr size_t kEach = 10;
  Random random(3);
  const bool planes = kind == Kind::kPlanes;
  return finished(
      {.name = std::format("{}, about {} candidates", planes ? "84x8400" : "25200x85", candidates),
       .kind = kind,
       .settings = settings_of(kind, 0.25f),
       .frames = {}},
      [&]() -> std::vector<Tensor> {
        return {scene(random, planes, planes ? 8400 : 25200,
                      {.objects = candidates / kEach,
                       .boxes_each = kEach,
                       .alarms = 0,
                       .object_scores = {0.3f, 0.97f}})};
      });
}

std::vector<Input> families() {
  std::vector<Input> out;
  for (FamilyFrames& each : family_frames(kTurns)) {
    Input input{.name = each.name + ", score > 0.25",
                .kind = Kind::kOther,
                .settings = each.settings,
                .frames = {}};
    size_t next = 0;
    out.push_back(finished(std::move(input), [&] { return std::move(each.frames[next++]); }));
  }
  return out;
}

Input boxes(size_t count) {
  Random random(2);
  Input input{.name = std::format("NMS alone, one class, n = {}", count),
              .kind = Kind::kBoxes,
              .settings = settings_of(Kind::kBoxes, 0),
              .frames = {}};
  input.settings.frame.size = {1100, 1100};
  input.settings.nms_method = NmsMethod::kGreedy;
  input.settings.max_detections = static_cast<uint32_t>(count);
  return finished(std::move(input), [&]() -> std::vector<Tensor> {
    return {rows(random_rows(random, count, 1000, 1))};
  });
}

Input large() {
  Random random(4);
  Input input{.name = "84x33600, score > 0.25",
              .kind = Kind::kPlanes,
              .settings = settings_of(Kind::kPlanes, 0.25f),
              .frames = {}};
  input.settings.frame.size = {1280, 1280};
  return finished(std::move(input),
                  [&]() -> std::vector<Tensor> { return {scene(random, true, 33600, {})}; });
}

}  // namespace keepbox::test
