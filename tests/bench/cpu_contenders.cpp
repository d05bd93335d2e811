// SPDX-License-Identifier: LGPL-2.1-or-later
// Times backends, OpenCV after a decoding loop, and elements.
#include <gst/check/gstharness.h>
#include <gst/gst.h>

#include <hwy/cache_control.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <format>
#include <opencv2/dnn.hpp>

#include "core/run/processor.h"
#include "gst/tensors/tensors.h"
#ifdef KEEPBOX_SIMD
#include "kernels/simd/backend.h"
#endif
#include "tests/bench/cpu.h"

namespace keepbox::test {
namespace {

constexpr size_t kRepeats = 64;
constexpr double kEnough = 2e6;  // microseconds after which fewer repeats suffice
constexpr double kLarge = 1e5;   // one run of that length is enough to warm up

void flush(const std::vector<Tensor>& tensors) {
  constexpr size_t kLine = 64;
  for (const Tensor& tensor : tensors) {
    const TensorView view = tensor.view();
    const auto* data = static_cast<const std::byte*>(view.data);
    for (size_t at = 0; at < view.bytes; at += kLine) hwy::FlushCacheline(data + at);
  }
}

/// Times work(i), which returns the number of boxes, for the frames in turn.
template <class Work>
Timing timed(const Input& input, std::string contender, Work work) {
  using Clock = std::chrono::steady_clock;
  Timing row{.contender = std::move(contender)};
  std::vector<double> times;
  const auto run = [&](size_t i) {
    if (input.flushed) flush(input.frames[i % kTurns]);
    const auto start = Clock::now();
    const size_t found = work(i % kTurns);
    if (i % kTurns == 0) row.boxes = found;
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  };
  for (size_t i = 0; i < kTurns; ++i)
    if (run(i) > kLarge) break;
  for (double spent = 0; times.size() < kRepeats && spent < kEnough; spent += times.back())
    times.push_back(run(times.size()));
  std::ranges::sort(times);
  row.p50 = times[times.size() / 2];
  row.p99 = times[times.size() * 99 / 100];
  return row;
}

Timing time_processor(const Input& input, const Backend& backend, std::string name) {
  std::vector<std::vector<TensorView>> views;
  for (const auto& tensors : input.frames) {
    views.emplace_back();
    for (const Tensor& tensor : tensors) views.back().push_back(tensor.view());
  }
  auto processor = Processor::create(*make_plan(input.settings, views[0]), {&backend, ""});
  return timed(input, std::move(name), [&](size_t i) {
    (void)processor->run(views[i]);
    return processor->detections().size();
  });
}

/// Results of a loop, as input for OpenCV.
struct Found {
  std::vector<cv::Rect2d> boxes;
  std::vector<float> scores;
  std::vector<int> classes;

  void add(float x, float y, float w, float h, float score, size_t class_id) {
    boxes.emplace_back(x, y, w, h);
    scores.push_back(score);
    classes.push_back(static_cast<int>(class_id));
  }
};

/// Decodes one anchor after the other, with all of its classes.
void loop_dense(const Input& input, const Tensor& tensor, bool objectness_first, Found& found) {
  const bool planes = input.kind == Kind::kPlanes;
  const size_t anchors = tensor.shape[planes ? 2 : 1], channels = tensor.shape[planes ? 1 : 2];
  const auto at = [&](size_t a, size_t c) {
    return tensor.values[planes ? c * anchors + a : a * channels + c];
  };
  const float threshold = *input.settings.score_threshold;
  const size_t first = planes ? 4 : 5;
  for (size_t a = 0; a < anchors; ++a) {
    if (objectness_first && at(a, 4) <= threshold) continue;
    float best = 0;
    size_t best_class = 0;
    for (size_t c = first; c < channels; ++c)
      if (at(a, c) > best) best = at(a, c), best_class = c - first;
    const float score = planes ? best : best * at(a, 4);
    if (score > threshold)
      found.add(at(a, 0) - at(a, 2) / 2, at(a, 1) - at(a, 3) / 2, at(a, 2), at(a, 3), score,
                best_class);
  }
}

void loop_ssd(const Input& input, const std::vector<Tensor>& tensors, Found& found) {
  const size_t classes = tensors[1].shape[2];
  for (size_t a = 0; a < tensors[1].shape[1]; ++a) {
    const float* logits = &tensors[1].values[a * classes];
    const auto best = static_cast<size_t>(std::max_element(logits + 1, logits + classes) - logits);
    const float score = 1 / (1 + std::exp(-logits[best]));
    if (score <= *input.settings.score_threshold) continue;
    const float* d = &tensors[0].values[a * 4];
    const Prior& prior = input.settings.priors[a];
    const auto side = static_cast<float>(input.settings.frame.size.width);
    const float w = std::exp(d[3] * 0.2f) * prior.width * side;
    const float h = std::exp(d[2] * 0.2f) * prior.height * side;
    const float x = (d[1] * 0.1f * prior.width + prior.cx) * side;
    const float y = (d[0] * 0.1f * prior.height + prior.cy) * side;
    found.add(x - w / 2, y - h / 2, w, h, score, best);
  }
}

void loop_ready(const Input& input, const Tensor& tensor, Found& found) {
  for (size_t a = 0; a < tensor.shape[1]; ++a) {
    const float* row = &tensor.values[a * 6];
    if (row[4] > *input.settings.score_threshold)
      found.add(row[0], row[1], row[2] - row[0], row[3] - row[1], row[4],
                static_cast<size_t>(row[5]));
  }
}

enum class Loop { kPlain, kObjectnessFirst };

Found found_by_loop(const Input& input, size_t frame, Loop loop) {
  Found found;
  const auto& tensors = input.frames[frame];
  if (input.kind == Kind::kSsd) loop_ssd(input, tensors, found);
  else if (input.kind == Kind::kReady || input.kind == Kind::kBoxes)
    loop_ready(input, tensors[0], found);
  else loop_dense(input, tensors[0], loop == Loop::kObjectnessFirst, found);
  return found;
}

size_t suppressed(const Input& input, const Found& found, bool batched) {
  std::vector<int> kept;
  if (input.kind == Kind::kReady) return found.boxes.size();
  const float threshold = *input.settings.score_threshold;
  if (batched)
    cv::dnn::NMSBoxesBatched(found.boxes, found.scores, found.classes, threshold, kIou, kept);
  else cv::dnn::NMSBoxes(found.boxes, found.scores, threshold, kIou, kept);
  return std::min<size_t>(kept.size(), input.settings.max_detections);
}

/// Times NMS only, without the loop.
Timing time_opencv_boxes(const Input& input) {
  std::vector<Found> found;
  for (size_t i = 0; i < kTurns; ++i) found.push_back(found_by_loop(input, i, Loop::kPlain));
  return timed(input, "OpenCV NMSBoxes",
               [&](size_t i) { return suppressed(input, found[i], false); });
}

constexpr const char* tensor_id(Kind kind) {
  switch (kind) {
    case Kind::kPlanes: return "yolo-v8-out";
    case Kind::kRows: return "";
    default: return "yolo-26-end2end-out";
  }
}

GstBuffer* frame_with(const Input& input, const Tensor& tensor) {
  const TensorView view = tensor.view();
  GstBuffer* frame = gst_buffer_new();
  add_tensor(frame, tensor_id(input.kind), tensor.type, tensor.shape,
             GST_TENSOR_DIM_ORDER_COL_MAJOR,
             gst_buffer_new_wrapped_full(GST_MEMORY_FLAG_READONLY, const_cast<void*>(view.data),
                                         view.bytes, 0, view.bytes, nullptr, nullptr));
  return frame;
}

Timing time_element(const Input& input, const std::string& line, const std::string& name) {
  GstHarness* harness = gst_harness_new_parse(line.c_str());
  const Size size = input.settings.frame.size;
  gst_harness_set_src_caps_str(
      harness,
      std::format("video/x-raw,format=RGB,width={},height={}", size.width, size.height).c_str());
  const Timing row = timed(input, name, [&](size_t i) {
    gst_harness_push(harness, frame_with(input, input.frames[i][0]));
    GstBuffer* out = gst_harness_try_pull(harness);
    const auto* meta = out ? gst_buffer_get_analytics_relation_meta(out) : nullptr;
    const size_t boxes = meta ? gst_analytics_relation_get_length(meta) : 0;
    if (out != nullptr) gst_buffer_unref(out);
    return boxes;
  });
  gst_harness_teardown(harness);
  return row;
}

bool have_element(const char* name) {
  GstElementFactory* factory = gst_element_factory_find(name);
  if (factory != nullptr) gst_object_unref(factory);
  return factory != nullptr;
}

}  // namespace

Timing time_read(const Input& input) {
  return timed(input, "memory read", [&](size_t i) {
    uint64_t sums[8]{};
    for (const Tensor& tensor : input.frames[i]) {
      const size_t words = tensor.view().bytes / sizeof(uint64_t);
      const auto* data = static_cast<const std::byte*>(tensor.view().data);
      for (size_t k = 0; k + 8 <= words; k += 8)
        for (size_t l = 0; l < 8; ++l) {
          uint64_t word;
          std::memcpy(&word, data + (k + l) * sizeof word, sizeof word);
          sums[l] += word;
        }
    }
    volatile uint64_t sink =
        sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
    (void)sink;
    return size_t{0};
  });
}

std::vector<Timing> time_backend(const Input& input, std::string_view name, bool each_target) {
  const Backend* backend = find_backend(name);
  if (backend == nullptr) return {};
  std::vector<Timing> out;
#ifdef KEEPBOX_SIMD
  if (each_target && name == "simd") {
    for (const std::string_view target : simd::targets()) {
      simd::force_target(target);
      out.push_back(time_processor(input, *backend, std::format("simd {}", target)));
    }
    simd::force_target("");
    return out;
  }
#endif
  out.push_back(time_processor(input, *backend, std::string(name)));
  return out;
}

std::vector<Timing> time_opencv(const Input& input) {
  if (input.kind == Kind::kBoxes) return {time_opencv_boxes(input)};
  if (input.kind == Kind::kReady)
    return {timed(input, "a plain loop", [&](size_t i) {
      return suppressed(input, found_by_loop(input, i, Loop::kPlain), false);
    })};
  std::vector<Timing> out;
  for (const bool batched : {false, true})
    for (const Loop loop : {Loop::kPlain, Loop::kObjectnessFirst}) {
      if (loop == Loop::kObjectnessFirst && input.kind != Kind::kRows) continue;
      out.push_back(timed(
          input,
          std::format("OpenCV NMSBoxes{}{}", batched ? "Batched" : "",
                      loop == Loop::kObjectnessFirst ? ", obj. first" : ""),
          [&](size_t i) { return suppressed(input, found_by_loop(input, i, loop), batched); }));
    }
  return out;
}

std::vector<Timing> time_elements(const Input& input, const std::vector<int>& threads) {
  if (input.kind == Kind::kSsd || input.kind == Kind::kBoxes) return {};
  const Settings& s = input.settings;
  const std::string options = std::format("iou-threshold={} max-detections={}", kIou, kMax);
  std::vector<Timing> out{time_element(input, "identity", "element identity")};
  for (const int count : threads)
    out.push_back(time_element(
        input,
        std::format("boxdecode detector={} score-threshold={} threads={} {}", s.detector,
                    *s.score_threshold, count, options),
        count == 1 ? "element boxdecode" : std::format("boxdecode threads={}", count)));
  const bool floats = input.frames[0][0].type == DataType::kFloat32;
  if (input.kind == Kind::kPlanes && floats && have_element("yolov8tensordec"))
    out.push_back(time_element(input,
                               std::format("yolov8tensordec class-confidence-threshold={} {}",
                                           *s.score_threshold, options),
                               "element yolov8tensordec"));
  return out;
}

}  // namespace keepbox::test
