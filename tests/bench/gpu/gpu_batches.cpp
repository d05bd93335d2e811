// SPDX-License-Identifier: LGPL-2.1-or-later
// Many frames at once in one run: in one tensor, as tiles of a frame, and with tensors of their
// own.
#include <cstdio>
#include <format>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "tests/bench/gpu/scale.h"

namespace keepbox::test::gpu {
namespace {

constexpr size_t kChannels = 84;
constexpr size_t kFrameBytes = kAnchors * kChannels * sizeof(float);

/// Returns the scene at a position of a batch.
size_t scene_at(size_t batch, size_t images, size_t image) {
  return (batch * images + image) % kScenes;
}

std::vector<DeviceBuffer> make_batches(const Input& input, size_t images) {
  std::vector<DeviceBuffer> batches;
  for (size_t b = 0; b < kTensors; ++b) {
    auto* to = static_cast<std::byte*>(batches.emplace_back(images * kFrameBytes).data());
    for (size_t i = 0; i < images; ++i)
      KB_CUDA(cudaMemcpy(to + i * kFrameBytes, input.on_device[scene_at(b, images, i)].data(),
                         kFrameBytes, cudaMemcpyDeviceToDevice));
  }
  KB_CUDA(cudaDeviceSynchronize());
  return batches;
}

/// Times runs on the batches in turn. @param view of a batch.
void time_batches(Row& row, Processor& processor, TensorView view,
                  std::span<const DeviceBuffer> batches) {
  const Times times = timed({}, [&](size_t i) {
    view.data = batches[i % batches.size()].data();
    run_or_exit(processor, view);
  });
  row.p50 = times.p50;
  row.p99 = times.p99;
  row.calls = times.calls;
}

/// Returns settings for the images as 3x2 overlapping tiles of a frame of 4K, and the whole frame.
Settings tiled(Settings settings) {
  constexpr Size kFrame{3840, 2160};
  settings.frame.size = kFrame;
  const auto areas = tile_areas({.size = kFrame}, {.columns = 3, .rows = 2, .whole = true});
  for (const PixelArea& area : *areas) {
    const Letterbox map =
        make_letterbox({.size = area.size}, {.size = {640, 640}}, ResizeMode::kLetterboxCenter);
    settings.tiles.push_back(tile_of(area, kFrame, map));
  }
  return settings;
}

/// Times the scenes as tiles of one frame, whose boxes are joined.
void measure_tiles(Session& session, const Input& input) {
  const Settings settings = tiled(input.settings);
  const size_t images = settings.tiles.size();
  const auto batches = make_batches(input, images);
  TensorView view = input.view(0, MemorySpace::kCuda);
  view.bytes = images * kFrameBytes;
  view.shape = {images, kChannels, kAnchors};
  view.data = batches[0].data();
  const auto plan = make_plan(settings, std::span(&view, 1));
  if (!plan) return static_cast<void>(std::fprintf(stderr, "%s\n", plan.error().message().c_str()));
  auto processor = make_processor(*plan, "cuda", MemorySpace::kCuda);
  auto reference = make_processor(*plan, "reference", MemorySpace::kSystem);
  if (!processor || !reference) return;
  Row row{.section = input.section,
          .input = input.name,
          .contender = std::format("keepbox cuda, {} tiles of a frame", images),
          .state = "in turn",
          .check = "exact"};
  std::vector<std::byte> host(view.bytes);
  for (size_t b = 0; b < kTensors; ++b) {
    KB_CUDA(cudaMemcpy(host.data(), batches[b].data(), host.size(), cudaMemcpyDeviceToHost));
    TensorView copy = view;
    copy.space = MemorySpace::kSystem;
    copy.data = host.data();
    view.data = batches[b].data();
    run_or_exit(*processor, view);
    run_or_exit(*reference, copy);
    const std::string check = compare(processor->detections(), reference->detections());
    if (check != "exact") row.check = check;
    if (b == 0) row.boxes = processor->detections().size();
  }
  time_batches(row, *processor, view, batches);
  session.add(std::move(row));
}

void measure_batch(Session& session, const Input& input, size_t images) {
  TensorView view = input.view(0, MemorySpace::kCuda);
  view.bytes = images * kFrameBytes;
  view.shape = {images, kChannels, kAnchors};
  const auto batches = make_batches(input, images);
  view.data = batches[0].data();
  const auto plan = make_plan(input.settings, std::span(&view, 1));
  if (!plan) return static_cast<void>(std::fprintf(stderr, "%s\n", plan.error().message().c_str()));
  auto processor = make_processor(*plan, "cuda", MemorySpace::kCuda);
  if (!processor) return;
  Row row{.section = input.section,
          .input = input.name,
          .contender = std::format("keepbox cuda, batch of {}", images),
          .state = "in turn",
          .check = "exact"};
  for (size_t b = 0; b < kTensors; ++b) {
    view.data = batches[b].data();
    run_or_exit(*processor, view);
    for (uint32_t i = 0; i < images; ++i) {
      const auto& expected = input.expected[scene_at(b, images, i)];
      const std::string check = compare(processor->detections(i), expected);
      if (check != "exact") row.check = std::format("{} in image {}", check, i);
      row.boxes += b == 0 ? expected.size() : 0;
    }
  }
  time_batches(row, *processor, view, batches);
  row.gb_per_s = static_cast<double>(view.bytes) / row.p50 / 1e3;
  row.frames_per_s = static_cast<double>(images) / row.p50 * 1e6;
  row.check += std::format(", {:.0f} % of a copy", 100 * row.gb_per_s / copy_bandwidth());
  session.add(std::move(row));
}

/// Measures frames with tensors and maps of their own, as of the streams of a batch: in one run, or
/// one by one.
void measure_frames(Session& session, const Input& input, uint32_t frames, bool together) {
  const auto batches = make_batches(input, frames);
  auto processor = make_processor(together ? joint_plan(input.plan, frames) : input.plan, "cuda",
                                  MemorySpace::kCuda);
  if (!processor) return;
  std::vector<TensorView> views(frames, input.view(0, MemorySpace::kCuda));
  Row row{.section = input.section,
          .input = input.name,
          .contender = std::format("keepbox cuda, {} frames {}", frames,
                                   together ? "together" : "one by one"),
          .state = "in turn",
          .check = "exact"};
  const auto run = [&](size_t batch, bool checked) {
    const auto* from = static_cast<const std::byte*>(batches[batch % kTensors].data());
    for (uint32_t i = 0; i < frames; ++i) views[i].data = from + i * kFrameBytes;
    if (together) run_or_exit(*processor, views);
    for (uint32_t i = 0; i < frames; ++i) {
      if (!together) run_or_exit(*processor, views[i]);
      if (!checked) continue;
      const auto& expected = input.expected[scene_at(batch, frames, i)];
      const std::string check = compare(processor->detections(together ? i : 0), expected);
      if (check != "exact") row.check = std::format("{} in frame {}", check, i);
      row.boxes += batch == 0 ? expected.size() : 0;
    }
  };
  for (size_t batch = 0; batch < kTensors; ++batch) run(batch, true);
  const Times times = timed({}, [&](size_t i) { run(i, false); });
  row.p50 = times.p50;
  row.p99 = times.p99;
  row.calls = times.calls;
  row.frames_per_s = frames / times.p50 * 1e6;
  session.add(std::move(row));
}

}  // namespace

void measure_batches(Session& session) {
  const Input input = make_scenes(session, "batches");
  for (size_t images = 1; images <= 64; images *= 2) measure_batch(session, input, images);
  measure_batch(session, input, tiled(input.settings).tiles.size());
  measure_tiles(session, input);
  for (uint32_t frames = 1; frames <= 16; frames *= 2)
    for (const bool together : {false, true}) measure_frames(session, input, frames, together);
}

}  // namespace keepbox::test::gpu
