// SPDX-License-Identifier: LGPL-2.1-or-later
// run() takes no memory: malloc is replaced by one that counts.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <random>

#include "gst/decode/threadcrew.h"
#include "tests/bench/scenes.h"

namespace {
std::atomic<long> allocations{0};
}

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

__attribute__((visibility("default"))) void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
__attribute__((visibility("default"))) void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
__attribute__((visibility("default"))) void* realloc(void* old, size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
}

namespace keepbox {
namespace {

TEST(Allocations, AreCounted) {
  const long before = allocations;
  delete new int(3);
  std::free(std::malloc(10));
  EXPECT_GE(allocations, before + 1);
}

void expect_none(const Plan& plan, const Backend& backend, const TensorView& view,
                 Crew* crew = nullptr) {
  auto processor = Processor::create(plan, {&backend, ""}, MemorySpace::kSystem, crew);
  ASSERT_TRUE(processor) << processor.error().message();
  ASSERT_TRUE(processor->run(std::span(&view, 1)));
  const long before = allocations;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(processor->run(std::span(&view, 1)));
  EXPECT_EQ(allocations, before) << backend.name << " method " << int(plan.rules.method);
  EXPECT_GT(processor->detections().size(), 100u);
}

TEST(Allocations, DoNotHappenInRun) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> place(0, 300), score(0, 1);
  test::Tensor tensor{.values = std::vector<float>(2100 * 10), .shape = {1, 10, 2100},
                      .id = "yolo-v8-out"};
  for (size_t i = 0; i < tensor.values.size(); ++i)
    tensor.values[i] = i < 4 * 2100 ? place(random) : score(random);
  const TensorView view = tensor.view();
  for (const NmsMethod method : {NmsMethod::kGreedy, NmsMethod::kNone, NmsMethod::kBitmask,
                                 NmsMethod::kSegmented, NmsMethod::kFast, NmsMethod::kSoftGaussian,
                                 NmsMethod::kWeighted, NmsMethod::kDiou, NmsMethod::kMatrix,
                                 NmsMethod::kMerge}) {
    Settings settings = test::pixel_settings(320);
    settings.method = method;
    const auto plan = make_plan(settings, std::span(&view, 1));
    ASSERT_TRUE(plan) << plan.error().message();
    for (const Backend& backend : backends())
      if (backend.memory == MemorySpace::kSystem) expect_none(*plan, backend, view);
  }
}

TEST(Allocations, DoNotHappenForInputs) {
  FrameForm frame{.size = {64, 48}, .matrix = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}}};
  const auto plan = plan_input(frame, 1, 1, {.size = {31, 33}}, ResizeMode::kLetterboxCenter);
  ASSERT_TRUE(plan) << plan.error().message();
  const std::vector<uint8_t> pixels(size_t{64} * 48);
  std::vector<float> input(size_t{3} * 31 * 33);
  for (const Backend& backend : backends()) {
    if (backend.memory != MemorySpace::kSystem) continue;
    const auto maker = backend.input_maker(*plan);
    const long before = allocations;
    ASSERT_TRUE((*maker)->make({.data = {pixels.data()}, .stride = {64}}, input.data(), nullptr));
    EXPECT_EQ(allocations, before) << backend.name;
  }
}

TEST(Allocations, DoNotHappenWithACrew) {
  std::mt19937 random(4);
  const test::Tensor tensor = test::scene(random, true, 8400, {});
  const TensorView view = tensor.view();
  Settings settings = test::pixel_settings();
  settings.score_threshold = 0.001f;
  const auto plan = make_plan(settings, std::span(&view, 1));
  const auto crew = make_thread_crew(3);
  ASSERT_TRUE(plan && crew);
  for (const Backend& backend : backends())
    if (backend.memory == MemorySpace::kSystem) expect_none(*plan, backend, view, crew.get());
}

}  // namespace
}  // namespace keepbox

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
