// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames that are cancelled.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/scene.h"

namespace keepbox {
namespace {

using namespace std::chrono_literals;

/// Boxes that touch only their neighbours: all methods compare nearly all pairs of them, which
/// takes ten seconds and more.
test::Tensor long_chain() {
  constexpr int kLinks = 100'000;
  std::vector<test::Row> rows;
  for (int i = 0; i < kLinks; ++i) {
    const float x = 0.005f * static_cast<float>(i);
    rows.push_back({x, 0, x + 0.012f, 10, 0.9f - 1e-6f * static_cast<float>(i), 0});
  }
  return test::rows(rows);
}

Settings without_ceiling(NmsMethod method) {
  Settings settings = test::pixel_settings();
  settings.nms_method = method;
  settings.max_detections = settings.pre_nms_top_k = 100'000;
  return settings;
}

struct LongRun {
  const char* backend;
  NmsMethod method;
};

class CancelledFrames : public testing::TestWithParam<LongRun> {};

TEST_P(CancelledFrames, EndEarly) {
  const test::Tensor boxes = long_chain();
  const TensorView view = boxes.view();
  const auto plan = make_plan(without_ceiling(GetParam().method), {&view, 1});
  ASSERT_TRUE(plan) << plan.error().message();
  const Backend* backend = find_backend(GetParam().backend);
  if (backend == nullptr) GTEST_SKIP() << "no such backend";
  auto processor = Processor::create(*plan, {backend, ""});
  ASSERT_TRUE(processor);
  std::atomic<bool> stop = false;
  processor->stop_by(&stop);
  std::jthread stopper([&] {
    std::this_thread::sleep_for(100ms);
    stop = true;
  });
  const Status done = processor->run({&view, 1});
  ASSERT_FALSE(done) << "finished before it was stopped";
  EXPECT_EQ(done.error().kind, ErrorKind::kInterrupted);
}

std::vector<LongRun> long_runs() {
  using enum NmsMethod;
  std::vector<LongRun> out{{"simd", kFast}};
  for (const NmsMethod method : {kGreedy, kBitmask, kSegmented, kFast, kSoftLinear, kSoftGaussian,
                                 kWeighted, kDiou, kMatrix, kMatrixLinear, kMerge})
    out.push_back({"reference", method});
  return out;
}

INSTANTIATE_TEST_SUITE_P(Each, CancelledFrames, testing::ValuesIn(long_runs()),
                         [](const auto& each) {
                           return std::string(each.param.backend) +
                                  std::to_string(static_cast<int>(each.param.method));
                         });

TEST(Cancellation, DoesNotAffectLaterFrames) {
  const test::Tensor boxes = test::rows({{0, 0, 9, 9, 0.9f, 0}});
  const TensorView view = boxes.view();
  const auto plan = make_plan(without_ceiling(NmsMethod::kGreedy), {&view, 1});
  ASSERT_TRUE(plan);
  auto processor = Processor::create(*plan, {find_backend("reference"), ""});
  ASSERT_TRUE(processor);
  std::atomic<bool> stop = true;
  processor->stop_by(&stop);
  const Status done = processor->run({&view, 1});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::kInterrupted);
  stop = false;
  ASSERT_TRUE(processor->run({&view, 1}));
  EXPECT_EQ(processor->detections().size(), 1u);
}

}  // namespace
}  // namespace keepbox
