// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks that run() allocates nothing, and that a refused allocation is an error, with a malloc()
// that counts and refuses.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <random>

#include "core/base/threads.h"
#include "core/model/nms_methods.h"
#include "core/run/suppressor.h"
#include "core/run/tile_merger.h"
#include "tests/bench/scenes.h"
#include "tests/tileboxes.h"

namespace {
std::atomic<long> allocations{0};

/// Minimum size of allocations that may be refused; buffers sized by tensors and frames are larger.
constexpr size_t kLarge = size_t{1} << 14;
std::atomic<long> large_left{-1};  // large allocations before one is refused; -1: none is

bool refused(size_t size) {
  ++allocations;
  return size >= kLarge && large_left >= 0 && large_left-- == 0;
}
}  // namespace

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

__attribute__((visibility("default"))) void* malloc(size_t size) {
  return refused(size) ? nullptr : __libc_malloc(size);
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
  return refused(size) ? nullptr : __libc_memalign(alignment, size);
}
__attribute__((visibility("default"))) int posix_memalign(void** out, size_t alignment,
                                                          size_t size) {
  void* memory = aligned_alloc(alignment, size);
  if (memory == nullptr) return ENOMEM;
  *out = memory;
  return 0;
}
}

namespace keepbox {
namespace {

TEST(Allocations, CounterWorks) {
  const long before = allocations;
  delete new int(3);
  std::free(std::malloc(10));
  EXPECT_GE(allocations, before + 1);
}

void expect_none(const Plan& plan, const Backend& backend, const TensorView& view,
                 ThreadPool* crew = nullptr) {
  auto processor = Processor::create(plan, {&backend, ""}, MemorySpace::kSystem, crew);
  ASSERT_TRUE(processor) << processor.error().message();
  ASSERT_TRUE(processor->run(std::span(&view, 1)));
  const long before = allocations;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(processor->run(std::span(&view, 1)));
  EXPECT_EQ(allocations, before) << backend.name << " method " << int(plan.rules.method);
  EXPECT_GT(processor->detections().size(), 100u);
}

TEST(Allocations, RunAllocatesNothing) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> place(0, 300), score(0, 1);
  test::Tensor tensor{
      .values = std::vector<float>(2100 * 10), .shape = {1, 10, 2100}, .id = "yolo-v8-out"};
  for (size_t i = 0; i < tensor.values.size(); ++i)
    tensor.values[i] = i < 4 * 2100 ? place(random) : score(random);
  const TensorView view = tensor.view();
  for (const NmsTraits& each : std::span(kNmsMethods).subspan(1)) {  // "auto" is first
    Settings settings = test::pixel_settings(320);
    settings.nms_method = each.method;
    const auto plan = make_plan(settings, std::span(&view, 1));
    ASSERT_TRUE(plan) << plan.error().message();
    for (const Backend& backend : backends())
      if (backend.memory == MemorySpace::kSystem) expect_none(*plan, backend, view);
  }
}

TEST(Allocations, JoiningTilesAllocatesNothing) {
  constexpr uint32_t kEach = 300;
  std::mt19937 random(5);
  std::uniform_real_distribution<float> place(0, 1000), side(5, 80), score(0, 1);
  Plan plan = test::plan_of_tiles({1000, 1000}, {.columns = 2, .rows = 2}, kEach, 1);
  test::TileBoxes boxes;
  boxes.tiles.resize(plan.tiles.size());
  for (auto& tile : boxes.tiles)
    for (uint32_t i = 0; i < kEach; ++i) {
      const float x = place(random), y = place(random);
      tile.push_back({.box = {x, y, x + side(random), y + side(random)}, .score = score(random)});
    }
  boxes.finish();
  auto merger = TileMerger::create(plan);
  ASSERT_TRUE(merger);
  const long before = allocations;
  for (const TileMerge merge : {TileMerge::kIos, TileMerge::kIou, TileMerge::kNone}) {
    plan.tile_rules.merge = merge;
    ASSERT_TRUE(merger->run(plan, boxes, {}, {}));
  }
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(merger->detections().size(), 4 * kEach);
}

TEST(Allocations, InputMakerAllocatesNothing) {
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

TEST(Allocations, RunWithThreadPoolAllocatesNothing) {
  std::mt19937 random(4);
  const test::Tensor tensor = test::scene(random, true, 8400, {});
  const TensorView view = tensor.view();
  Settings settings = test::pixel_settings();
  settings.score_threshold = 0.001f;
  const auto plan = make_plan(settings, std::span(&view, 1));
  const auto crew = make_worker_threads(3);
  ASSERT_TRUE(plan && crew);
  for (const Backend& backend : backends())
    if (backend.memory == MemorySpace::kSystem) expect_none(*plan, backend, view, crew.get());
}

TEST(Allocations, SuppressionAllocatesForMoreBoxesOnly) {
  constexpr uint32_t kBoxes = 900;
  std::mt19937 random(6);
  std::uniform_real_distribution<float> place(0, 300), score(0, 1);
  std::vector<float> boxes, scores;
  for (uint32_t i = 0; i < kBoxes; ++i) {
    const float x = place(random), y = place(random);
    boxes.insert(boxes.end(), {x, y, x + 20, y + 20});
    scores.push_back(score(random));
  }
  std::vector<int64_t> indices(kBoxes);
  std::vector<uint32_t> counts(2);
  const std::vector<uint32_t> starts{0, 300};
  BoxProblems problems{.list = {boxes.data(), scores.data()},
                       .boxes = kBoxes,
                       .indices = indices.data(),
                       .counts = counts.data()};
  for (const NmsTraits& each : kNmsMethods)
    for (const Backend& backend : backends()) {
      if (backend.memory != MemorySpace::kSystem) continue;
      Settings settings = suppression_defaults();
      settings.nms_method = each.method;
      auto suppressor = Suppressor::create(settings, false, backend);
      ASSERT_TRUE(suppressor);
      problems.starts = nullptr;
      large_left = 0;
      const Status refused_memory = suppressor->run(problems);
      large_left = -1;
      ASSERT_FALSE(refused_memory) << each.name;
      EXPECT_EQ(refused_memory.error().kind, ErrorKind::kNoResource);
      ASSERT_TRUE(suppressor->run(problems)) << "the next call finds memory";
      const long before = allocations;
      ASSERT_TRUE(suppressor->run(problems));
      problems.starts = starts.data();
      problems.start_count = 2;
      ASSERT_TRUE(suppressor->run(problems));
      EXPECT_EQ(allocations, before) << backend.name << ' ' << each.name;
      EXPECT_GT(counts[1], 50u);
    }
}

/// Boxes that do not touch, with keypoints or with mask coefficients and prototypes.
std::vector<test::Tensor> with_more(bool masks) {
  constexpr size_t kAnchors = 2100, kClasses = 6, kMore = 48;
  test::Tensor boxes{std::vector<float>((4 + kClasses + kMore) * kAnchors, 1),
                     {1, 4 + kClasses + kMore, kAnchors},
                     masks ? "boxes" : "points"};
  for (size_t i = 0; i < kAnchors; ++i) {
    const float numbers[] = {static_cast<float>(i % 16 * 20 + 9),
                             static_cast<float>(i / 16 * 20 + 9),
                             16,
                             16,
                             0.9f,
                             0,
                             0,
                             0,
                             0,
                             0};
    for (size_t row = 0; row < std::size(numbers); ++row)
      boxes.values[row * kAnchors + i] = i < 256 ? numbers[row] : 0;
  }
  if (!masks) return {boxes};
  return {boxes, {std::vector<float>(kMore * 80 * 80, 1), {1, kMore, 80, 80}, "prototypes"}};
}

/// Runs one processor and one frame with one large allocation refused. @return true if none was
/// refused.
bool refuse(const Plan& plan, const Backend& backend, std::span<const TensorView> views,
            long number) {
  large_left = number;
  auto processor = Processor::create(plan, {&backend, ""});
  const Status status =
      processor ? processor->run(views) : Status(std::unexpected(processor.error()));
  const bool done = large_left >= 0;
  large_left = -1;
  EXPECT_EQ(status.has_value(), done) << backend.name << " allocation " << number;
  if (status) return done;
  EXPECT_EQ(status.error().kind, ErrorKind::kNoResource);
  EXPECT_NE(status.error().message().find("Not enough memory for "), std::string::npos);
  if (!processor) return done;
  EXPECT_TRUE(processor->run(views)) << "the next frame finds memory";
  return done;
}

TEST(Allocations, RefusedAllocationIsAnError) {
  for (const bool masks : {false, true}) {
    const auto tensors = with_more(masks);
    std::vector<TensorView> views;
    for (const test::Tensor& tensor : tensors) views.push_back(tensor.view());
    Settings settings = test::pixel_settings(320);
    settings.detector = masks ? "yolov8-seg" : "yolov8-pose";
    settings.num_classes = 6;
    settings.frame = {.size = {3200, 3200}};
    settings.mask_size = MaskSize::kFrame;
    const auto plan = make_plan(settings, views);
    ASSERT_TRUE(plan) << plan.error().message();
    for (const Backend& backend : backends()) {
      if (backend.memory != MemorySpace::kSystem) continue;
      long number = 0;
      while (number < 100 && !refuse(*plan, backend, views, number)) ++number;
      EXPECT_GE(number, masks ? 3 : 2) << "the workspace, points, and sums and pixels of masks";
    }
  }
}

}  // namespace
}  // namespace keepbox

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
