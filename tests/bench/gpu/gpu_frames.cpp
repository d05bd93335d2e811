// SPDX-License-Identifier: LGPL-2.1-or-later
// One frame at a time: two shapes in two kinds of scenes, increasing numbers of candidates, and NMS
// only.
#include <format>
#include <random>

#include "tests/bench/gpu/gpu.h"

namespace keepbox::test::gpu {
namespace {

constexpr size_t kFewTensors = 2;  // if checking them on the host takes long
constexpr size_t kManyBoxes = 10000;

std::string shape_name(bool planes, size_t anchors) {
  return planes ? std::format("84x{}", anchors) : std::format("{}x85", anchors);
}

/// Rows as written by YOLOv10: 300, best first, mostly noise.
std::vector<Tensor> ready_rows() {
  constexpr size_t kRows = 300;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> place(0, 500), extent(10, 140);
  std::vector<Tensor> out;
  for (size_t t = 0; t < kTensors; ++t) {
    std::vector<test::Row> list;
    float score = 0.97f;
    for (size_t i = 0; i < kRows; ++i, score *= 0.98f) {
      const float x = place(random), y = place(random);
      list.push_back(
          {x, y, x + extent(random), y + extent(random), score, static_cast<float>(random() % 80)});
    }
    out.push_back(rows(list));
  }
  return out;
}

void measure_backends(Session& session, const Input& input, bool all_states) {
  const auto add = [&](std::string_view name, MemorySpace space) {
    if (const auto contender = backend(input, name, space))
      measure(session, input, *contender, all_states);
  };
  add("cuda", MemorySpace::kCuda);
  add("cuda", MemorySpace::kSystem);
  add("simd", MemorySpace::kSystem);
}

/// Boxes of one class all over a large picture, as end-to-end rows.
std::vector<Tensor> boxes_of_one_class(size_t boxes) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> place(0, 1000), extent(10, 100), score(0.01f, 1);
  std::vector<Tensor> out;
  for (size_t t = 0; t < (boxes < kManyBoxes ? kTensors : kFewTensors); ++t) {
    std::vector<test::Row> list;
    for (size_t i = 0; i < boxes; ++i) {
      const float x = place(random), y = place(random);
      const float right = x + extent(random), bottom = y + extent(random);
      list.push_back({x, y, right, bottom, score(random), 0});
    }
    out.push_back(rows(list));
  }
  return out;
}

/// Measures float16, which the published methods do not support.
void measure_halves(Session& session, bool planes) {
  const size_t anchors = planes ? 8400 : 25200;
  std::vector<Tensor> tensors;
  for (Tensor& tensor : scenes(planes, anchors, kStreet, kTensors))
    tensors.push_back(halved(std::move(tensor)));
  const Input input =
      make_input(session, "contents",
                 std::format("{} float16, street, score > 0.25", shape_name(planes, anchors)), "",
                 frame_settings(planes, 0.25f), std::move(tensors));
  measure_backends(session, input, true);
}

/// Measures rows that need no NMS.
void measure_ready(Session& session) {
  Settings settings = pixel_settings();
  settings.detector = "yolov10";
  settings.nms_method = NmsMethod::kNone;
  settings.score_threshold = 0.25f;
  settings.max_detections = kMax;
  const Input input =
      make_input(session, "contents", "1x300x6, ready rows", "", settings, ready_rows());
  measure_backends(session, input, true);
}

}  // namespace

void measure_contents(Session& session) {
  for (const auto& [scene_name, size] : {std::pair{"street", kStreet}, {"quiet", SceneSize{}}})
    for (const bool planes : {false, true})
      for (const float threshold : {0.25f, 0.001f}) {
        const size_t anchors = planes ? 8400 : 25200;
        const std::string shape = shape_name(planes, anchors);
        const Input input = make_input(
            session, "contents", std::format("{}, {}, score > {}", shape, scene_name, threshold),
            shape + "-" + scene_name, frame_settings(planes, threshold),
            scenes(planes, anchors, size, kTensors));
        measure_backends(session, input, true);
        for (const Contender& fast : fast_decoders(input, threshold > 0.1f ? 1000 : 30000))
          measure(session, input, fast);
      }
  for (const bool planes : {false, true}) measure_halves(session, planes);
  measure_ready(session);
}

void measure_candidates(Session& session) {
  constexpr size_t kEach = 25;
  for (const size_t anchors : {8400, 33600})
    for (const size_t wanted : {100, 300, 1000, 3000, 8000, 10000, 30000}) {
      if (wanted > anchors) continue;
      const SceneSize size{.objects = wanted / kEach,
                           .boxes_each = kEach,
                           .alarms = 0,
                           .object_scores = kStreet.object_scores};
      const std::string shape = shape_name(true, anchors);
      const Input input =
          make_input(session, shape + " frames", std::format("{} candidates", wanted),
                     std::format("{}-{}", shape, wanted), frame_settings(true, 0.25f),
                     scenes(true, anchors, size, anchors > 8400 ? kTensors / 2 : kTensors));
      measure_backends(session, input, false);
      measure(session, input, fast_decoders(input, 30000).back(), false);
    }
}

void measure_nms(Session& session) {
  const auto measure_one = [&](size_t boxes, const char* contract, const char* section) {
    Settings settings = pixel_settings(2000);
    settings.detector = "yolov10";
    settings.nms_method = NmsMethod::kGreedy;
    settings.nms_contract = contract;
    settings.score_threshold = 0;
    settings.iou_threshold = kIou;
    settings.max_detections = static_cast<uint32_t>(boxes);
    const bool known_elsewhere = settings.nms_contract == "exact";
    const Input input = make_input(session, section, std::format("{} boxes", boxes),
                                   known_elsewhere ? std::format("boxes-{}", boxes) : "", settings,
                                   boxes_of_one_class(boxes));
    measure_backends(session, input, false);
    measure(session, input, faster_rcnn(input));
  };
  for (const size_t boxes : {100, 300, 1000, 3000, 10000, 30000})
    measure_one(boxes, "exact", "NMS alone, one class");
  measure_one(1000, "plus-one", "NMS alone, one class, pixels plus one");
}

}  // namespace keepbox::test::gpu
