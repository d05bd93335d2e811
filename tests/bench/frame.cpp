// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes one frame twice; the second time, after all allocations, in a function with its own name
// for an instruction counter.
// usage: frame BACKEND CASE
#include <algorithm>
#include <cstdio>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "core/run/processor.h"
#include "tests/bench/scenes.h"

namespace keepbox {
namespace {

using test::Tensor;

/// Tensors of a frame, and their settings.
struct Scene {
  std::string_view name;
  const char* detector;
  std::vector<Tensor> (*make)(std::mt19937& random);
  void (*set)(Settings& settings) = [](Settings&) {};
};

/// Values in low .. high, of which one in `often` is in high .. top.
Tensor numbers(std::mt19937& random, Shape shape, float low, float high, float top,
               unsigned often = 200) {
  Tensor out{.shape = shape};
  std::uniform_real_distribution<float> usual(low, high), rare(high, top);
  for (size_t i = shape.count().value_or(0); i > 0; --i)
    out.values.push_back(random() % often == 0 ? rare(random) : usual(random));
  return out;
}

std::vector<Tensor> planes(std::mt19937& random) { return {test::scene(random, true, 8400, {})}; }

std::vector<Tensor> rows(std::mt19937& random) { return {test::scene(random, false, 25200, {})}; }

/// Three maps of a 640x640 input, with the channels of an anchor by level.
std::vector<Tensor> maps(std::mt19937& random, size_t channels, unsigned often) {
  std::vector<Tensor> out;
  for (const size_t side : {80, 40, 20})
    out.push_back(numbers(random, {1, channels, side, side}, -9, -2, 3, often));
  return out;
}

std::vector<Tensor> anchored(std::mt19937& random) { return maps(random, 255, 30); }
std::vector<Tensor> binned(std::mt19937& random) { return maps(random, 144, 400); }
/// Returns such maps with two passing classes per passing anchor on average.
std::vector<Tensor> binned_often(std::mt19937& random) { return maps(random, 144, 40); }

std::vector<Tensor> heat(std::mt19937& random) {
  return {numbers(random, {1, 80, 128, 128}, -9, -4, 1),
          numbers(random, {1, 2, 128, 128}, 1, 20, 40), numbers(random, {1, 2, 128, 128}, 0, 1, 1)};
}

/// Many more boxes of one class than are kept.
std::vector<Tensor> crowd(std::mt19937& random) {
  return {test::scene(random, true, 8400, {.objects = 2000, .boxes_each = 2})};
}

void few_by_segments(Settings& settings) {
  settings.nms_method = NmsMethod::kSegmented;
  settings.class_agnostic = true;
  settings.max_detections = 30;
}

/// Planes of int8: coordinates and scores in 0..1.
std::vector<Tensor> bytes(std::mt19937& random) {
  Tensor out = test::scene(random, true, 8400, {});
  out.type = DataType::kInt8;
  out.scale = 1.0f / 255;
  out.zero_point = -128;
  for (size_t i = 0; i < out.values.size(); ++i) {
    const float fraction = i < size_t{4} * 8400 ? out.values[i] / 640 : out.values[i];
    const float stored = std::clamp(fraction * 255 - 128, -128.0f, 127.0f);
    out.raw.push_back(static_cast<std::byte>(static_cast<int8_t>(stored)));
  }
  return {std::move(out)};
}

const Scene kScenes[] = {
    {"planes", "yolov8", planes},
    {"rows", "yolov5", rows},
    {"anchored-heads", "yolov5-heads", anchored},
    {"binned-heads", "yolov8-heads", binned},
    {"heat-map", "centernet", heat, [](Settings& s) { s.frame.size = {512, 512}; }},
    {"int8-planes", "yolov8-normalized", bytes, [](Settings& s) { s.units = Units::kNormalized; }},
    {"labels", "yolov8", planes, [](Settings& s) { s.multi_label = true; }},
    {"binned-labels", "yolov8-heads", binned_often, [](Settings& s) { s.multi_label = true; }},
    {"segments", "yolov8", crowd, few_by_segments},
};

/// Function counted by instructions.py, without the rest of the program and without libraries that
/// probe the machine when loaded.
[[gnu::noinline]] bool counted_frame(Processor& processor, std::span<const TensorView> tensors) {
  return processor.run(tensors).has_value();
}

int run(const Scene& scene, const Backend& backend) {
  std::mt19937 random(1);
  const std::vector<Tensor> tensors = scene.make(random);
  std::vector<TensorView> views, read;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  Settings settings = test::pixel_settings();
  settings.detector = scene.detector;
  scene.set(settings);
  const auto plan = make_plan(settings, views);
  if (!plan) return 1;
  for (const uint32_t i : plan->reads) read.push_back(views[i]);
  auto processor = Processor::create(*plan, {&backend, ""});
  if (!processor || !processor->run(read) || !counted_frame(*processor, read)) return 1;
  std::printf("%zu boxes of %u candidates\n", processor->detections().size(),
              processor->funnel().after_class_filter);
  return 0;
}

}  // namespace
}  // namespace keepbox

int main(int argc, char** argv) {
  using namespace keepbox;
  if (argc != 3) return 2;
  const Backend* backend = find_backend(argv[1]);
  const auto* scene = std::ranges::find(kScenes, std::string_view(argv[2]), &Scene::name);
  if (scene == std::end(kScenes) || backend == nullptr) return 2;
  return run(*scene, *backend);
}
