// SPDX-License-Identifier: LGPL-2.1-or-later
// An engine whose runs the test ends, and the pictures of its members.
#pragma once

#include "gst/infer/run/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace keepbox::test {

/// A result whose slices are bytes: slot, number of pictures, index.
class FakeResult : public BatchResult {
 public:
  FakeResult(size_t slot, std::vector<void*> pictures)
      : slot_(slot), pictures_(std::move(pictures)) {}

  Result<std::vector<InferredTensor>> slice(unsigned index, unsigned) const override {
    InferredTensor tensor{.type = DataType::kUInt8, .shape = Shape{sizeof(void*)}};
    tensor.data.reset(gst_buffer_new_memdup(&pictures_[index], sizeof(void*)));
    std::vector<InferredTensor> out;
    out.push_back(std::move(tensor));
    return out;
  }
  size_t slot() const { return slot_; }
  size_t size() const { return pictures_.size(); }

 private:
  size_t slot_;
  std::vector<void*> pictures_;
};

class FakeEngine : public BatchEngine {
 public:
  Result<std::shared_ptr<const BatchResult>> launch(size_t slot,
                                                    std::span<void* const> ready) override {
    std::unique_lock lock(lock_);
    sizes.push_back(ready.size());
    if (long_launch) ended_.wait(lock, [&] { return cancelled || free_; });
    if (failing || cancelled) return fail(ErrorKind::kNoResource, "a run", "none");
    return std::make_shared<FakeResult>(slot, std::vector(ready.begin(), ready.end()));
  }

  Status wait(size_t) override {
    ++waiting;
    std::unique_lock lock(lock_);
    ended_.wait(lock, [&] { return free_ || runs_ > 0; });
    if (!free_) --runs_;
    return {};
  }

  /// Ends one run, or all runs from now on.
  void end_run() {
    const std::lock_guard guard(lock_);
    ++runs_;
    ended_.notify_all();
  }
  void end_all() {
    const std::lock_guard guard(lock_);
    free_ = true;
    ended_.notify_all();
  }

  bool makes_inputs_later() const override { return later; }
  bool runs_in_launch() const override { return long_launch; }

  void clear_cancel() override {
    const std::lock_guard guard(lock_);
    cancelled = false;
  }
  void cancel() override {
    const std::lock_guard guard(lock_);
    cancelled = true;
    ended_.notify_all();
  }

  size_t launches() {
    const std::lock_guard guard(lock_);
    return sizes.size();
  }

  std::vector<size_t> sizes;
  std::atomic<bool> later = false;
  std::atomic<int> waiting = 0;
  std::atomic<bool> failing = false;
  std::atomic<bool> long_launch = false;  // runs are complete when they are cancelled
  std::atomic<bool> cancelled = false;

 private:
  std::mutex lock_;
  std::condition_variable ended_;
  int runs_ = 0;
  bool free_ = false;
};

inline std::shared_ptr<void> picture(uintptr_t number) {
  return {std::shared_ptr<void>(), reinterpret_cast<void*>(number)};
}

/// Returns the picture that a place's result has.
inline uintptr_t picture_in(const Result<std::shared_ptr<const BatchResult>>& result,
                            unsigned index) {
  auto tensors = (*result)->slice(index);
  uintptr_t number = 0;
  gst_buffer_extract((*tensors)[0].data.get(), 0, &number, sizeof number);
  return number;
}

/// Reserves the place of a frame with one picture.
inline Result<Batches::Slot> take_place(Batches& batches, Batches::Member& member, uint64_t order) {
  KB_ASSIGN(std::vector<Batches::Slot> places, batches.take(member, order, 1));
  return std::move(places.front());
}

inline void wait_until(const auto& reached) {
  for (int i = 0; i < 5000 && !reached(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(reached());
}

class BatchesTest : public testing::Test {
 protected:
  ~BatchesTest() override { engine_.end_all(); }

  /// Runs one picture, and returns the number that came back.
  uintptr_t run(Batches::Member& member, uintptr_t number, uint64_t order = 0) {
    auto place = test::take_place(batches_, member, order);
    if (!place) return 0;
    batches_.put(*place, picture(number));
    const unsigned index = place->index;
    const auto result = batches_.result(member, std::move(*place));
    return result ? picture_in(result, index) : 0;
  }

  FakeEngine engine_;
  Batches batches_{{.capacity = 4}, engine_};
};

}  // namespace keepbox::test
