// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes of models on a GPU: without copies to the host, in one pipeline and in several that share a
// model.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "tests/gst/infer/ongpu.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::has_box;
using test::InferOnGpu;
using test::painted;
using test::patches;
using test::raw;
using test::Rect;
using test::runs_on;

constexpr Rect kRed{80, 40, 320, 200}, kBlue{400, 180, 560, 320};

guint64 count(Harness& h, const char* element, const char* field) {
  g_autoptr(GstElement) found = gst_bin_get_by_name(h.bin(), element);
  GstStructure* stats = nullptr;
  g_object_get(found, "stats", &stats, nullptr);
  guint64 out = G_MAXUINT64;
  gst_structure_get_uint64(stats, field, &out);
  gst_structure_free(stats);
  return out;
}

TEST_F(InferOnGpu, TilesHaveTheirBoxesOnTheFrame) {
  const std::string caps = raw("RGB", 640, 360);
  const Rect red{215, 95, 265, 145}, blue{420, 180, 460, 230};  // whole in a tile each
  Harness h(infer(test::ultralytics_like({96, 96}), "tiles=6x4") + " ! boxdecode name=decode",
            caps);
  for (int i = 0; i < 5; ++i) {
    const Buffer out = h.run(painted(caps, patches(red, blue)));
    ASSERT_TRUE(out) << h.error();
    EXPECT_TRUE(has_box(out, "disc", red, 6));
    EXPECT_TRUE(has_box(out, "bar", blue, 6));
  }
  EXPECT_EQ(count(h, "decode", "zero-copy-frames"), 5u);
}

TEST_F(InferOnGpu, LeavesNothingOnTheHost) {
  const std::string caps = raw("RGB", 640, 360);
  Harness h(infer(test::ultralytics_like({320, 320}), "") + " ! boxdecode name=decode", caps);
  for (int i = 0; i < 5; ++i) {
    const Buffer out = h.run(painted(caps, patches(kRed, kBlue)));
    ASSERT_TRUE(out) << h.error();
    EXPECT_TRUE(has_box(out, "disc", kRed));
    EXPECT_TRUE(has_box(out, "bar", kBlue));
  }
  EXPECT_TRUE(runs_on(h, "cuda"));
  EXPECT_EQ(count(h, "decode", "zero-copy-frames"), 5u);
  EXPECT_EQ(count(h, "decode", "downloaded-frames"), 0u);
}

TEST_F(InferOnGpu, IsSharedByElements) {
  const std::string caps = raw("RGB", 640, 360);
  const std::string line = infer(test::ultralytics_like({320, 320}), "") + " ! boxdecode";
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Rect red{40 + 60 * t, 40, 200 + 60 * t, 200};
      Harness h(line, caps);
      for (int i = 0; i < 30; ++i)
        right += has_box(h.run(painted(caps, patches(red))), "disc", red);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 120);
}

/// Larger batches are opened for elements that join, which takes seconds.
TEST_F(InferOnGpu, RunsFramesWhileOthersJoin) {
  using Clock = std::chrono::steady_clock;
  const std::string caps = raw("RGB", 640, 360);
  const std::string line = infer(test::ultralytics_like({320, 320}), "") + " ! boxdecode";
  Harness first(line, caps);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(first.run(painted(caps, patches(kRed)))) << first.error();
  std::atomic<bool> joined = false;
  const auto begun = Clock::now();
  std::thread others([&] {
    std::vector<std::unique_ptr<Harness>> more;
    for (int i = 0; i < 7; ++i) {
      more.push_back(std::make_unique<Harness>(line, caps));
      EXPECT_TRUE(has_box(more.back()->run(painted(caps, patches(kRed))), "disc", kRed));
    }
    joined = true;
  });
  Clock::duration longest{};
  while (!joined) {
    const auto start = Clock::now();
    EXPECT_TRUE(has_box(first.run(painted(caps, patches(kRed))), "disc", kRed));
    longest = std::max(longest, Clock::now() - start);
  }
  others.join();
  const auto milliseconds = [](Clock::duration time) {
    return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
  };
  const auto all = Clock::now() - begun;
  RecordProperty("longest_ms", milliseconds(longest));
  RecordProperty("joined_ms", milliseconds(all));
  std::printf("the longest frame took %d ms of %d\n", milliseconds(longest), milliseconds(all));
  EXPECT_LT(longest, all / 3);
}

TEST_F(InferOnGpu, TakesExportsOfOtherFamilies) {
  const std::string caps = raw("RGB", 640, 360);
  const std::pair<test::onnx::Model, std::string> models[] = {
      {test::dfine_like({320, 320}), ""},
      {test::paddle_like({320, 320}), ""},
      {test::ultralytics_like({192, 320}, true), ""},
      {test::yolox_like({320, 320}), " detector=yolox num-classes=2"}};
  for (const auto& [model, family] : models) {
    Harness h(infer(model, "") + " ! boxdecode" + family, caps);
    for (int i = 0; i < 3; ++i) {
      const Buffer out = h.run(painted(caps, patches(kRed, kBlue)));
      ASSERT_TRUE(out) << h.error();
      EXPECT_EQ(boxes(out).size(), 2u);
    }
    EXPECT_TRUE(runs_on(h, "cuda"));
  }
}

TEST_F(InferOnGpu, ReleasesItsMemory) {
  const std::string caps = raw("RGB", 640, 360);
  const std::string line = infer(test::ultralytics_like({320, 320}), "") + " ! boxdecode";
  const auto once = [&] {
    Harness h(line, caps);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(h.run(painted(caps, patches(kRed))));
  };
  once();
  const size_t before = free_memory();
  for (int i = 0; i < 10; ++i) once();
  EXPECT_GE(free_memory() + (size_t{8} << 20), before);
}

}  // namespace
}  // namespace keepbox
