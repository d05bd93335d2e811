// SPDX-License-Identifier: LGPL-2.1-or-later
// Times whole frames: every backend, OpenCV behind a plain decoding loop, the memory floor, and in
// a harness boxdecode beside GStreamer's own decoder where there is one. Prints a table and, with
// --json FILE, writes it.
#include <gst/check/gstharness.h>
#include <gst/gst.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <hwy/cache_control.h>
#include <nlohmann/json.hpp>
#include <opencv2/dnn.hpp>
#include <ranges>
#include <string>
#include <tuple>
#include <vector>

#include "core/processor.h"
#include "gst/tensors.h"
#ifdef KEEPBOX_SIMD
#include "kernels/simd/simd.h"
#endif
#include "tests/bench/scenes.h"

namespace keepbox::test {
namespace {

constexpr size_t kTensors = 8;  // taken in turn
constexpr size_t kRepeats = 64;
constexpr double kEnough = 2e6;  // microseconds after which fewer repeats do
constexpr float kIou = 0.45f;
constexpr size_t kMost = 300;

/// Tensors of one kind at one threshold.
struct Input {
  std::string name;
  bool planes;
  float threshold;
  std::vector<Tensor> tensors;
};

struct Timing {
  std::string input, contender;
  double p50 = 0, p99 = 0;
  size_t boxes = 0;
  size_t candidates = 0;  // above the threshold; 0: not counted
};

bool cold = false;  // tensors are flushed from all caches before each run

void flush(const Tensor& tensor) {
  constexpr size_t kLine = 64;
  const auto* data = reinterpret_cast<const std::byte*>(tensor.values.data());
  for (size_t at = 0; at < tensor.values.size() * sizeof(float); at += kLine)
    hwy::FlushCacheline(data + at);
}

/// Times work(i) for i = 0, 1, ... in microseconds.
template <class Work>
Timing timed(const Input& input, std::string contender, Work work) {
  std::vector<double> times;
  Timing row{.input = input.name, .contender = std::move(contender)};
  for (size_t i = 0; i < kTensors; ++i) row.boxes = work(i);
  double spent = 0;
  for (size_t i = 0; i < kRepeats && spent < kEnough; ++i) {
    if (cold) flush(input.tensors[i % kTensors]);
    const auto start = std::chrono::steady_clock::now();
    work(i % kTensors);
    const std::chrono::duration<double, std::micro> took =
        std::chrono::steady_clock::now() - start;
    times.push_back(took.count());
    spent += took.count();
  }
  std::ranges::sort(times);
  row.p50 = times[times.size() / 2];
  row.p99 = times[times.size() * 99 / 100];
  return row;
}

Settings settings_of(const Input& input) {
  Settings settings = pixel_settings();
  settings.detector = input.planes ? "yolov8" : "yolov5";
  settings.score_threshold = input.threshold;
  settings.iou_threshold = kIou;
  settings.max_detections = kMost;
  return settings;
}

Timing time_backend(const Input& input, const Backend& backend, const std::string& name) {
  const TensorView first = input.tensors[0].view();
  auto processor = Processor::create(*make_plan(settings_of(input), std::span(&first, 1)),
                                     {&backend, ""});
  return timed(input, name, [&](size_t i) {
    const TensorView view = input.tensors[i].view();
    (void)processor->run(std::span(&view, 1));
    return processor->detections().size();
  });
}

/// Those that run here without a device.
auto host_backends() {
  return backends() | std::views::filter([](const Backend& backend) { return !backend.runner; });
}

enum class Loop { kPlain, kObjectnessFirst };

/// What people write by hand: a loop over anchors and classes, then OpenCV.
Timing time_opencv(const Input& input, bool batched, Loop loop) {
  std::string name = batched ? "OpenCV NMSBoxesBatched" : "OpenCV NMSBoxes";
  if (loop == Loop::kObjectnessFirst) name += ", obj. first";
  return timed(input, std::move(name), [&](size_t i) {
    const Tensor& tensor = input.tensors[i];
    const size_t anchors = tensor.shape[input.planes ? 2 : 1];
    const size_t channels = tensor.shape[input.planes ? 1 : 2];
    const auto at = [&](size_t a, size_t c) {
      return tensor.values[input.planes ? c * anchors + a : a * channels + c];
    };
    std::vector<cv::Rect2d> boxes;
    std::vector<float> scores;
    std::vector<int> classes, kept;
    const size_t first = input.planes ? 4 : 5;
    for (size_t a = 0; a < anchors; ++a) {
      if (loop == Loop::kObjectnessFirst && at(a, 4) <= input.threshold) continue;
      float best = 0;
      size_t best_class = 0;
      for (size_t c = first; c < channels; ++c)
        if (at(a, c) > best) best = at(a, c), best_class = c - first;
      const float score = input.planes ? best : best * at(a, 4);
      if (score <= input.threshold) continue;
      boxes.emplace_back(at(a, 0) - at(a, 2) / 2, at(a, 1) - at(a, 3) / 2, at(a, 2), at(a, 3));
      scores.push_back(score);
      classes.push_back(static_cast<int>(best_class));
    }
    if (batched) cv::dnn::NMSBoxesBatched(boxes, scores, classes, input.threshold, kIou, kept);
    else cv::dnn::NMSBoxes(boxes, scores, input.threshold, kIou, kept);
    return std::min(kept.size(), kMost);
  });
}

/// Reading the same bytes and nothing else.
Timing time_read(const Input& input) {
  return timed(input, "memory read", [&](size_t i) {
    const auto& values = input.tensors[i].values;
    uint64_t sums[8]{};
    const size_t words = values.size() / 2;
    const auto* data = reinterpret_cast<const std::byte*>(values.data());
    for (size_t k = 0; k + 8 <= words; k += 8)
      for (size_t l = 0; l < 8; ++l) {
        uint64_t word;
        std::memcpy(&word, data + (k + l) * sizeof word, sizeof word);
        sums[l] += word;
      }
    volatile uint64_t sink = sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] +
                             sums[7];
    (void)sink;
    return size_t{0};
  });
}

/// An element under a harness, a new frame each time; the frame's own cost is in it.
Timing time_element(const Input& input, const std::string& line, const std::string& name) {
  GstHarness* harness = gst_harness_new_parse(line.c_str());
  gst_harness_set_src_caps_str(harness, "video/x-raw,format=RGB,width=640,height=640");
  const Timing row = timed(input, name, [&](size_t i) {
    const Tensor& tensor = input.tensors[i];
    GstBuffer* frame = gst_buffer_new();
    add_tensor(frame, "yolo-v8-out", DataType::kFloat32, tensor.shape,
               GST_TENSOR_DIM_ORDER_COL_MAJOR,
               gst_buffer_new_wrapped_full(GST_MEMORY_FLAG_READONLY,
                                           const_cast<float*>(tensor.values.data()),
                                           tensor.values.size() * sizeof(float), 0,
                                           tensor.values.size() * sizeof(float), nullptr, nullptr));
    gst_harness_push(harness, frame);
    GstBuffer* out = gst_harness_try_pull(harness);
    const auto* meta = out ? gst_buffer_get_analytics_relation_meta(out) : nullptr;
    const size_t boxes = meta ? gst_analytics_relation_get_length(meta) : 0;
    if (out != nullptr) gst_buffer_unref(out);
    return boxes;
  });
  gst_harness_teardown(harness);
  return row;
}

std::vector<Timing> time_elements(const Input& input) {
  char options[200];
  std::snprintf(options, sizeof options, "iou-threshold=%g max-detections=%zu", double{kIou}, kMost);
  const std::string threshold = "threshold=" + std::to_string(input.threshold);
  std::vector<Timing> rows{
      time_element(input, "identity", "element identity"),
      time_element(input, "boxdecode score-" + threshold + " " + options, "element boxdecode")};
  if (GstElementFactory* factory = gst_element_factory_find("yolov8tensordec")) {
    gst_object_unref(factory);
    rows.push_back(time_element(
        input, "yolov8tensordec class-confidence-" + threshold + " " + options,
        "element yolov8tensordec"));
  }
  return rows;
}

std::vector<Timing> measure(const Input& input) {
  std::vector<Timing> rows{time_read(input),
                        time_backend(input, *find_backend("reference"), "reference")};
#ifdef KEEPBOX_SIMD
  for (const std::string_view target : simd::targets()) {
    simd::force_target(target);
    rows.push_back(time_backend(input, *find_backend("simd"), "simd " + std::string(target)));
  }
  simd::force_target("");
#endif
  for (const bool batched : {false, true}) {
    rows.push_back(time_opencv(input, batched, Loop::kPlain));
    if (!input.planes) rows.push_back(time_opencv(input, batched, Loop::kObjectnessFirst));
  }
  if (input.planes)
    for (Timing& row : time_elements(input)) rows.push_back(std::move(row));
  return rows;
}

/// Families that the vector backend leaves to the reference's decoding: how long they take.
std::vector<Timing> measure_family(const char* name, const Settings& settings,
                                   const std::vector<Tensor>& tensors) {
  const Input input{.name = name, .planes = false, .threshold = 0, .tensors = tensors};
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  std::vector<Timing> rows;
  for (const Backend& backend : host_backends()) {
    auto processor = Processor::create(*make_plan(settings, views), {&backend, ""});
    rows.push_back(timed(input, std::string(backend.name), [&](size_t) {
      (void)processor->run(views);
      return processor->detections().size();
    }));
  }
  return rows;
}

std::vector<Timing> measure_ready() {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> place(0, 500), extent(10, 100), score(0, 1);
  std::vector<test::Row> list;
  for (int i = 0; i < 300; ++i) {
    const float x = place(random), y = place(random);
    list.push_back({x, y, x + extent(random), y + extent(random), score(random), 3});
  }
  return measure_family("1x300x6, score > 0.25", pixel_settings(), {rows(list)});
}

std::vector<Timing> measure_ssd() {
  constexpr size_t kAnchors = 1917, kScores = 91;
  std::mt19937 random(5);
  std::uniform_real_distribution<float> delta(-1, 1), logit(-9, -2), place(0.1f, 0.9f);
  Tensor boxes{.values = {}, .shape = {1, kAnchors, 4}, .id = {}};
  Tensor scores{.values = {}, .shape = {1, kAnchors, kScores}, .id = {}};
  Settings settings = pixel_settings(300);
  for (size_t a = 0; a < kAnchors; ++a) {
    for (int i = 0; i < 4; ++i) boxes.values.push_back(delta(random));
    for (size_t c = 0; c < kScores; ++c)
      scores.values.push_back(a % 40 == 0 && c == 1 + a % 7 ? 2.0f : logit(random));
    settings.priors.push_back({place(random), place(random), 0.2f, 0.2f});
  }
  return measure_family("SSD 1917x4 and 1917x91, score > 0.25", settings, {boxes, scores});
}

/// Suppression alone: one class, boxes all over a large picture, as end-to-end rows.
std::vector<Timing> measure_nms(size_t boxes) {
  Input input{.name = "NMS alone, one class, n = " + std::to_string(boxes),
              .planes = false, .threshold = 0, .tensors = {}};
  std::vector<std::vector<cv::Rect2d>> rects(kTensors);
  std::vector<std::vector<float>> scores(kTensors);
  std::mt19937 random(2);
  std::uniform_real_distribution<float> place(0, 1000), extent(10, 100), score(0.01f, 1);
  for (size_t t = 0; t < kTensors; ++t) {
    std::vector<test::Row> list;
    for (size_t i = 0; i < boxes; ++i) {
      const float x = place(random), y = place(random), w = extent(random), h = extent(random);
      list.push_back({x, y, x + w, y + h, score(random), 0});
      rects[t].emplace_back(x, y, w, h);
      scores[t].push_back(list.back().score);
    }
    input.tensors.push_back(rows(list));
  }
  Settings settings = pixel_settings(2000);
  settings.score_threshold = 0;
  settings.method = NmsMethod::kGreedy;
  settings.max_detections = static_cast<uint32_t>(boxes);
  std::vector<Timing> out;
  for (const Backend& backend : host_backends()) {
    const TensorView first = input.tensors[0].view();
    auto processor =
        Processor::create(*make_plan(settings, std::span(&first, 1)), {&backend, ""});
    out.push_back(timed(input, std::string(backend.name), [&](size_t i) {
      const TensorView view = input.tensors[i].view();
      (void)processor->run(std::span(&view, 1));
      return processor->detections().size();
    }));
  }
  out.push_back(timed(input, "OpenCV NMSBoxes", [&](size_t i) {
    std::vector<int> kept;
    cv::dnn::NMSBoxes(rects[i], scores[i], 0.0f, kIou, kept);
    return kept.size();
  }));
  return out;
}

/// Frames with ever more candidates.
std::vector<Timing> measure_candidates(size_t wanted) {
  constexpr size_t kEach = 10;
  std::mt19937 random(3);
  Input input{.name = "84x8400, about " + std::to_string(wanted) + " candidates",
              .planes = true, .threshold = 0.25f, .tensors = {}};
  for (size_t i = 0; i < kTensors; ++i)
    input.tensors.push_back(scene(random, true, 8400, {wanted / kEach, kEach, 0}));
  const TensorView first = input.tensors[0].view();
  auto processor = Processor::create(*make_plan(settings_of(input), std::span(&first, 1)),
                                     {find_backend("reference"), ""});
  (void)processor->run(std::span(&first, 1));
  std::vector<Timing> rows;
  for (const Backend& backend : host_backends())
    rows.push_back(time_backend(input, backend, std::string(backend.name)));
  rows.push_back(time_opencv(input, true, Loop::kPlain));
  for (Timing& row : time_elements(input)) rows.push_back(std::move(row));
  for (Timing& row : rows) row.candidates = processor->funnel().above_threshold;
  return rows;
}

void print(const std::vector<Timing>& rows) {
  const double ours = std::ranges::min(rows, {}, [](const Timing& row) {
                        return row.contender.starts_with("simd") ? row.p50 : 1e30;
                      }).p50;
  std::printf("\n%s\n  %-26s %10s %10s %8s %6s\n", rows[0].input.c_str(), "", "p50 us", "p99 us",
              "x simd", "boxes");
  for (const Timing& row : rows)
    std::printf("  %-26s %10.1f %10.1f %8.2f %6zu\n", row.contender.c_str(), row.p50, row.p99,
                row.p50 / ours, row.boxes);
}

nlohmann::ordered_json to_json(const Timing& row) {
  return {{"input", row.input}, {"contender", row.contender}, {"p50_us", row.p50},
          {"p99_us", row.p99}, {"boxes", row.boxes},
          {"candidates", row.candidates}};
}

}  // namespace
}  // namespace keepbox::test

int main(int argc, char** argv) {
  using namespace keepbox::test;
  gst_init(&argc, &argv);
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& [planes, threshold, flushed] :
       {std::tuple{true, 0.25f, false}, {true, 0.001f, false}, {true, 0.25f, true},
        {false, 0.25f, false}, {false, 0.001f, false}, {false, 0.25f, true}}) {
      std::mt19937 random(1);
      Input input{.name = std::string(planes ? "84x8400" : "25200x85") +
                          (threshold > 0.1f ? ", score > 0.25" : ", score > 0.001") +
                          (flushed ? ", caches flushed" : ""),
                  .planes = planes,
                  .threshold = threshold,
                  .tensors = {}};
      for (size_t i = 0; i < kTensors; ++i)
        input.tensors.push_back(scene(random, planes, planes ? 8400 : 25200, {}));
      cold = flushed;
      const auto rows = measure(input);
      cold = false;
      print(rows);
      for (const Timing& row : rows) json.push_back(to_json(row));
    }
  for (const auto& rows : {measure_ready(), measure_ssd()}) {
    print(rows);
    for (const Timing& row : rows) json.push_back(to_json(row));
  }
  for (const size_t boxes : {100, 1000, 10000}) {
    const auto rows = measure_nms(boxes);
    print(rows);
    for (const Timing& row : rows) json.push_back(to_json(row));
  }
  for (const size_t wanted : {10, 30, 100, 300, 1000, 3000, 8000}) {
    const auto rows = measure_candidates(wanted);
    print(rows);
    for (const Timing& row : rows) json.push_back(to_json(row));
  }
  if (argc == 3 && std::string_view(argv[1]) == "--json") std::ofstream(argv[2]) << json.dump(1);
  return 0;
}
