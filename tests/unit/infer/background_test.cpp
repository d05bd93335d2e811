// SPDX-License-Identifier: LGPL-2.1-or-later
// Work in the background that is waited for, interrupted or left.
#include "gst/infer/loading.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include "tests/unit/infer/fakeengine.h"

namespace keepbox {
namespace {

using namespace std::chrono_literals;
using Answer = std::shared_ptr<int>;

/// Work that the test ends.
struct Gate {
  std::atomic<bool> open = false;
  Result<Answer> wait() {
    while (!open) std::this_thread::sleep_for(1ms);
    return std::make_shared<int>(7);
  }
};

TEST(Background, HasAResultOrAnError) {
  BackgroundResult<Answer> good([] { return Result<Answer>(std::make_shared<int>(7)); });
  const auto answer = good.take();
  ASSERT_TRUE(answer);
  EXPECT_EQ(**answer, 7);
  BackgroundResult<Answer> bad(
      []() -> Result<Answer> { return fail(ErrorKind::kInvalid, "one thing", "another"); });
  EXPECT_EQ(bad.take().error().found, "another");
}

TEST(Background, GoesOnWhenTheWaitIsInterrupted) {
  Gate gate;
  BackgroundResult<Answer> result([&] { return gate.wait(); });
  std::jthread interrupts([&] {
    std::this_thread::sleep_for(10ms);
    result.work().interrupt(true);
  });
  EXPECT_EQ(result.take().error().kind, ErrorKind::kInterrupted);
  EXPECT_EQ(result.take().error().kind, ErrorKind::kInterrupted) << "until it is allowed again";
  result.work().interrupt(false);
  gate.open = true;
  EXPECT_TRUE(result.take());
}

TEST(Background, HasAnEndForAThreadThatWatches) {
  auto gate = std::make_shared<Gate>();
  BackgroundResult<Answer> left([gate] { return gate->wait(); });
  left.work().interrupt(true);
  std::jthread leaves([&] {
    std::this_thread::sleep_for(10ms);
    left.work().leave();
  });
  EXPECT_EQ(left.work().end(), std::nullopt);
  gate->open = true;
  BackgroundResult<Answer> bad(
      []() -> Result<Answer> { return fail(ErrorKind::kInvalid, "one thing", "another"); });
  EXPECT_EQ(bad.work().end(), "expected one thing, found another");
}

TEST(Background, DropsTheResultOfWorkThatWasLeft) {
  auto gate = std::make_shared<Gate>();
  auto kept = std::make_shared<int>(1);
  std::weak_ptr<int> last;
  {
    BackgroundResult<Answer> result([gate, kept]() -> Result<Answer> {
      (void)gate->wait();
      return kept;
    });
    last = std::exchange(kept, nullptr);
  }
  EXPECT_FALSE(last.expired());
  gate->open = true;
  test::wait_until([&] { return last.expired(); });
}

TEST(Background, IsWaitedForByTheExitOfTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto leave = [] {
    BackgroundThread work([] {
      std::this_thread::sleep_for(100ms);
      std::fputs("complete", stderr);
      return std::string();
    });
    std::exit(0);
  };
  EXPECT_EXIT(leave(), testing::ExitedWithCode(0), "complete");
}

}  // namespace
}  // namespace keepbox
