// SPDX-License-Identifier: LGPL-2.1-or-later
// Decoding on several threads.
#include "core/base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "core/run/processor.h"
#include "tests/bench/scenes.h"

namespace keepbox {
namespace {

TEST(WorkerThreads, OneThreadNeedsNoPool) {
  EXPECT_EQ(make_worker_threads(0), nullptr);
  EXPECT_EQ(make_worker_threads(1), nullptr);
  EXPECT_EQ(make_worker_threads(1000)->size(), kMaxThreads);
}

TEST(WorkerThreads, RunsEachPartOnce) {
  const auto crew = make_worker_threads(5);
  ASSERT_NE(crew, nullptr);
  for (uint32_t parts = 1; parts <= crew->size(); ++parts) {
    std::atomic<uint32_t> done[kMaxThreads]{};
    crew->run(
        parts, [](void* of, uint32_t i) { ++static_cast<std::atomic<uint32_t>*>(of)[i]; }, done);
    for (uint32_t i = 0; i < kMaxThreads; ++i) EXPECT_EQ(done[i], i < parts ? 1u : 0u);
  }
}

/// Parts that wait for each other, which end only if threads run in parallel.
TEST(WorkerThreads, RunsInParallel) {
  const auto crew = make_worker_threads(3);
  ASSERT_NE(crew, nullptr);
  std::atomic<uint32_t> there = 0;
  crew->run(
      3,
      [](void* of, uint32_t) {
        auto& count = *static_cast<std::atomic<uint32_t>*>(of);
        ++count;
        while (count < 3) std::this_thread::yield();
      },
      &there);
  EXPECT_EQ(there, 3u);
}

/// A thread pool that counts its calls.
class CountingCrew : public ThreadPool {
 public:
  explicit CountingCrew(uint32_t size) : size_(size) {}
  uint32_t size() const override { return size_; }
  void run(uint32_t parts, void (*part)(void*, uint32_t), void* context) override {
    requested = parts;
    for (uint32_t i = parts; i-- > 0;) part(context, i);
  }
  uint32_t requested = 0;

 private:
  uint32_t size_;
};

std::vector<Detection> detections_by(const Plan& plan, const Backend& backend,
                                     std::span<const TensorView> views, ThreadPool* crew,
                                     Funnel& funnel) {
  auto processor = Processor::create(plan, {&backend, ""}, MemorySpace::kSystem, crew);
  EXPECT_TRUE(processor && processor->run(views));
  funnel = processor->funnel();
  const auto found = processor->detections();
  return {found.begin(), found.end()};
}

void expect_same_boxes(bool planes, size_t anchors, ThreadPool& crew) {
  std::mt19937 random(7);
  const test::Tensor tensor = test::scene(random, planes, anchors, {});
  const TensorView view = tensor.view();
  Settings settings = test::pixel_settings();
  settings.detector = planes ? "yolov8" : "yolov5";
  settings.score_threshold = 0.001f;
  const auto plan = make_plan(settings, std::span(&view, 1));
  ASSERT_TRUE(plan) << plan.error().message();
  for (const Backend& backend : backends()) {
    if (backend.memory != MemorySpace::kSystem) continue;
    Funnel alone, together;
    const auto want = detections_by(*plan, backend, std::span(&view, 1), nullptr, alone);
    const auto got = detections_by(*plan, backend, std::span(&view, 1), &crew, together);
    ASSERT_EQ(got.size(), want.size()) << backend.name;
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(got[i].anchor, want[i].anchor);
      EXPECT_EQ(got[i].box, want[i].box);
      EXPECT_EQ(got[i].score, want[i].score);
    }
    EXPECT_EQ(std::memcmp(&alone, &together, sizeof alone), 0) << backend.name;
  }
}

TEST(ThreadPool, DecodesTheSameBoxes) {
  for (const uint32_t size : {2u, 3u, 64u}) {
    CountingCrew crew(size);
    expect_same_boxes(true, 8400, crew);
    EXPECT_EQ(crew.requested, std::min(size, 5u));  // parts of half a megabyte
    expect_same_boxes(false, 25199, crew);
    EXPECT_EQ(crew.requested, std::min(size, 16u));
  }
}

TEST(ThreadPool, DecodesTheSameBoxesOnThreads) {
  const auto crew = make_worker_threads(4);
  ASSERT_NE(crew, nullptr);
  for (int i = 0; i < 5; ++i) expect_same_boxes(true, 8401, *crew);
}

TEST(ThreadPool, IsNotUsedForSmallTensors) {
  CountingCrew crew(8);
  expect_same_boxes(true, 1000, crew);
  EXPECT_EQ(crew.requested, 0u);
}

}  // namespace
}  // namespace keepbox
