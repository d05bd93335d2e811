// SPDX-License-Identifier: LGPL-2.1-or-later
// Inputs with the expected boxes, on the device, and in files for other programs.
#include <cstdio>
#include <cstdlib>
#include <format>
#include <fstream>
#include <random>

#include "tests/bench/gpu/gpu.h"

namespace keepbox::test::gpu {
namespace {

/// Adds the reference's candidates in key order and its boxes.
void add_expected(Input& input, const Tensor& tensor) {
  const TensorView view = tensor.view();
  const auto views = std::span(&view, 1);
  const Backend& reference = *find_backend("reference");
  const HostKernels& kernels = *reference.kernels;
  std::vector<Candidate> candidates(input.plan.rules.candidates);
  Funnel funnel;
  candidates.resize(
      kernels.decode(input.plan, views, 0, {0, input.plan.layout.anchors}, candidates, funnel));
  input.candidates.push_back(std::move(candidates));
  auto processor = Processor::create(input.plan, {&reference, ""});
  if (!processor || !processor->run(views)) {
    std::fprintf(stderr, "gpu-bench: the reference cannot decode %s\n", input.name.c_str());
    std::exit(1);
  }
  const auto boxes = processor->detections();
  input.expected.emplace_back(boxes.begin(), boxes.end());
}

void dump(Session& session, const Input& input, const std::string& file) {
  nlohmann::ordered_json entry{
      {"section", input.section},
      {"input", input.name},
      {"detector", input.plan.spec->name},
      {"shape", input.tensors[0].shape.dims()},
      {"score_threshold", *input.settings.score_threshold},
      {"iou_threshold", input.settings.iou_threshold.value_or(kIouThreshold)},
      {"max_detections", input.settings.max_detections}};
  for (size_t i = 0; i < input.size(); ++i) {
    const std::string name = std::format("{}-{}.raw", file, i);
    const std::string path = session.dump() + "/" + name;
    const auto& values = input.tensors[i].values;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
    entry["files"].push_back(name);
    entry["candidates"].push_back(input.candidates[i].size());
    entry["boxes"].push_back(input.expected[i].size());
  }
  session.manifest().push_back(std::move(entry));
}

}  // namespace

TensorView Input::view(size_t index, MemorySpace space) const {
  TensorView view = tensors[index].view();
  if (space == MemorySpace::kCuda) view.data = on_device[index].data();
  view.space = space;
  return view;
}

std::vector<Tensor> scenes(bool planes, size_t anchors, const SceneSize& size, size_t count) {
  std::mt19937 random(1);
  std::vector<Tensor> out;
  for (size_t i = 0; i < count; ++i) out.push_back(scene(random, planes, anchors, size));
  return out;
}

Settings frame_settings(bool planes, float threshold) {
  Settings settings = pixel_settings();
  settings.detector = planes ? "yolov8" : "yolov5";
  settings.score_threshold = threshold;
  settings.iou_threshold = kIou;
  settings.max_detections = kMax;
  return settings;
}

Input make_input(Session& session, std::string section, std::string name, const std::string& file,
                 const Settings& settings, std::vector<Tensor> tensors) {
  Input input{.section = std::move(section),
              .name = std::move(name),
              .settings = settings,
              .tensors = std::move(tensors)};
  std::fprintf(stderr, "gpu-bench: %s: %s\n", input.section.c_str(), input.name.c_str());
  const TensorView first = input.tensors[0].view();
  auto plan = make_plan(settings, std::span(&first, 1));
  if (!plan) {
    std::fprintf(stderr, "gpu-bench: %s\n", plan.error().message().c_str());
    std::exit(1);
  }
  input.plan = std::move(*plan);
  for (const Tensor& tensor : input.tensors) {
    input.on_device.emplace_back(tensor.view().data, tensor.view().bytes);
    add_expected(input, tensor);
  }
  if (!session.dump().empty() && !file.empty()) dump(session, input, file);
  return input;
}

std::string compare(std::span<const Detection> found, std::span<const Detection> expected) {
  if (found.size() != expected.size())
    return std::format("DIFFERS: {} boxes, not {}", found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    if (!(found[i].box == expected[i].box) || found[i].score != expected[i].score ||
        found[i].class_id != expected[i].class_id || found[i].anchor != expected[i].anchor)
      return std::format("DIFFERS: box {} of anchor {}, not {}", i, found[i].anchor,
                         expected[i].anchor);
  return "exact";
}

}  // namespace keepbox::test::gpu
