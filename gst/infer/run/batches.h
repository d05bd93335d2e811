// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures of several elements in one run of a model.
#pragma once

#include <gst/gst.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "gst/base/batches.h"

namespace keepbox {

// A model's output for the pictures of a frame.

/// An output of a model for a frame. In CUDA memory it has kReadyEvent.
struct InferredTensor {
  DataType type = DataType::kFloat32;
  Shape shape;
  OwnedBuffer data;
};

/// Joins the outputs of a frame's pictures along their first dimension. @param parts each with all
/// outputs of some pictures, in the order of the pictures; more than one.
using JoinTensors = std::function<Result<std::vector<InferredTensor>>(
    std::vector<std::vector<InferredTensor>> parts)>;

/// Returns the shapes of joined outputs. kUnsupported if parts differ in more than the number of
/// pictures.
Result<std::vector<Shape>> joined_shapes(const std::vector<std::vector<InferredTensor>>& parts);

// A frame whose tensors are on their way.

/// The time spent per step of a frame. On a GPU these are times of an earlier frame, to avoid
/// waiting.
struct InferTimes {
  double input_us = 0;  // making the input, uploads included
  double model_us = 0;
  double queued_us = 0;  // waiting for frames before it
};

/// A frame that was given to a model. If it is destroyed before finish(), its results are dropped.
class PendingFrame {
 public:
  virtual ~PendingFrame() = default;

  /// Returns one tensor per output, in the model's order. Waits until the frame's run was started.
  /// Called once. kInterrupted if the element was stopped.
  virtual Result<std::vector<InferredTensor>> finish() = 0;

  virtual InferTimes times() const = 0;
};

/// A frame whose run was started in the streaming thread, without a batch.
class StartedFrame : public PendingFrame {
 public:
  StartedFrame(std::vector<InferredTensor> tensors, InferTimes times)
      : tensors_(std::move(tensors)), times_(times) {}
  Result<std::vector<InferredTensor>> finish() override { return std::move(tensors_); }
  InferTimes times() const override { return times_; }

 private:
  std::vector<InferredTensor> tensors_;
  InferTimes times_;
};

// The interface from a batch of pictures to their tensors, on any device.

/// The outputs of one run, shared by the pictures in it.
class BatchResult {
 public:
  virtual ~BatchResult() = default;

  /// Returns the tensors of some pictures, one per output of the model: views of the run's memory,
  /// which they keep alive. Thread-safe. @param first the place of the first picture in the batch.
  virtual Result<std::vector<InferredTensor>> slice(unsigned first, unsigned count = 1) const = 0;

  /// Returns how long the run took, or an earlier one on a device whose runs are not waited for.
  virtual double model_us() const { return 0; }
};

/// Runs batches of one model. Each slot has room for the input of one batch. One thread launches
/// runs, another waits for them; other functions may be called from any thread.
class BatchEngine {
 public:
  virtual ~BatchEngine() = default;

  /// Starts a run of the first pictures of a slot. May return before it is complete. Runs that are
  /// under way use other slots.
  /// @param ready one per picture: when its input is complete, as the device's inferencer passed it
  /// to Batches::put(); nullptr for places without a picture.
  virtual Result<std::shared_ptr<const BatchResult>> launch(size_t slot,
                                                            std::span<void* const> ready) = 0;

  /// Waits until the run of a slot is complete. Another run may be launched meanwhile.
  virtual Status wait(size_t slot) = 0;

  /// True if runs are complete when launch() returns, so that nothing waits for them.
  virtual bool runs_in_launch() const { return false; }

  /// True if inputs are made on a device after put() returned, so that a place whose picture was
  /// given up must not be used again before its batch was run.
  virtual bool makes_inputs_later() const { return false; }

  /// Forgets an earlier cancel(). Called before each launch, without a pause in between.
  virtual void clear_cancel() {}

  /// Ends the current run early if the device can, because its results are not needed.
  virtual void cancel() {}
};

// Gathers pictures of several elements into batches, and runs them in order.

/// Counts since the batches were made.
struct BatchCounts {
  uint64_t batches = 0;
  uint64_t pictures = 0;  // that were in them
  uint64_t dropped = 0;   // of those, abandoned by their elements
  unsigned capacity = 1;  // maximum number of pictures in a batch, now
};

/// A queue of batches. A batch is launched as soon as the previous run is complete, with the
/// pictures that are there; it waits for more only if a timeout is set. A full batch is launched
/// during that run, so that the device has work when it ends. A stream alone has batches of one
/// picture; under load each batch has the pictures that came during the run before it.
///
/// Threads: the streaming threads of all members, one of its own that launches the runs, and one
/// that waits for their ends.
class Batches {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    unsigned capacity = 1;                // maximum number of pictures in a batch
    size_t slots = 2;                     // of the engine: for the open batch, and one per run
    std::chrono::microseconds timeout{};  // time that a batch waits to be full
  };

  /// An element that has pictures to run. Guarded by the batches.
  class Member {
   private:
    friend class Batches;
    bool stopped = false;
    unsigned places = 0;  // without a result yet
  };

 private:
  struct Batch;

 public:
  /// A place in a batch. Ends with result() or abandon().
  struct Slot {
    std::shared_ptr<Batch> batch;
    unsigned index = 0;
    size_t slot = 0;
  };

  /// @param engine outlives the batches.
  Batches(Options options, BatchEngine& engine);
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;
  /// @pre no member has a place or waits for one.
  ~Batches();

  /// Reserves adjacent places in the open batch for the pictures of a frame: for all of them if a
  /// batch holds that many, otherwise for as many as are free. Waits while there is no room; then
  /// the lowest `order` is first, and members with more than their share of the batch are last.
  /// kInterrupted if the member is stopped.
  /// @param order the time at which the frame is due, in any unit that all members share.
  /// @param pictures without a place, at least 1. @param before pictures of the frame that have
  /// places in earlier batches; a frame counts in the member's share once. @param unused number of
  /// pictures by which the frame has less than join() announced; nothing waits for these.
  Result<std::vector<Slot>> take(Member& member, uint64_t order, unsigned pictures,
                                 unsigned before = 0, unsigned unused = 0);

  /// Marks the input of a place as made. @param ready see BatchEngine::launch(); kept alive until
  /// the batch was launched.
  void put(const Slot& place, std::shared_ptr<void> ready);

  /// Gives up a place, before or after put(). The run's other pictures are not affected.
  void abandon(Member& member, Slot place);

  /// Waits until the place's batch was launched, and returns its result. kInterrupted if the member
  /// is stopped; the place is then abandoned.
  Result<std::shared_ptr<const BatchResult>> result(Member& member, Slot place);

  /// Makes take() and result() of a member fail while `on`, also those that wait. From any thread.
  void interrupt(Member& member, bool on);

  /// Adds an element that has up to `places` pictures at a time, or removes one, which has none.
  /// The last one waits until no run is being started, and until abandoned pictures were launched.
  void join(unsigned places);
  void leave(unsigned places);

  /// Waits until no run is under way and no place is taken, and holds new ones until `change`
  /// returns the new capacity.
  void change(const std::function<unsigned()>& change);

  BatchCounts counts() const;

 private:
  struct Entry {
    std::shared_ptr<void> ready;
    bool made = false, wanted = true;
  };
  struct Batch {
    size_t slot = 0;
    bool starting = false;  // the engine is being called
    bool launched = false;  // the result is there
    unsigned pending = 0;   // places whose input is not made yet
    unsigned wanted = 0;    // places that were not abandoned
    unsigned before = 0;    // pictures of its frames that are in earlier batches, or in none
    Clock::time_point begun;
    std::vector<Entry> entries;  // by place
    Result<std::shared_ptr<const BatchResult>> result;
    std::condition_variable changed;

    size_t taken() const { return entries.size(); }
  };
  struct Waiter {
    bool over_share;
    uint64_t order;
    unsigned pictures, before;  // see take()

    auto operator<=>(const Waiter&) const = default;
  };

  bool is_next(const Waiter& waiter) const;
  bool fits(const Waiter& waiter) const;
  bool is_full() const;
  bool may_start() const;
  void wake_next();
  bool is_due(std::unique_lock<std::mutex>& lock);
  unsigned share() const;
  void open_next();
  void drop(Member& member, const Slot& place);
  void loop();
  void wait_for_runs();
  void launch(std::unique_lock<std::mutex>& lock);
  bool is_idle() const;

  BatchEngine& engine_;
  const Options options_;
  mutable std::mutex lock_;
  std::condition_variable work_;                  // for the launching thread
  std::condition_variable runs_;                  // for the thread that waits for runs
  std::condition_variable idle_;                  // for change()
  unsigned capacity_, members_ = 0, places_ = 0;  // places_: of all members
  std::shared_ptr<Batch> open_, launching_;
  std::deque<size_t> running_;  // slots of the runs under way
  std::multimap<Waiter, std::condition_variable*> waiters_;
  size_t next_slot_ = 0;
  bool held_ = false, ending_ = false;
  bool ended_ = false;  // no run will be launched
  BatchCounts counts_;
  std::thread launching_thread_, waiting_thread_;
};

// One element's part in the batches of a shared model.

class BatchMember {
 public:
  /// Makes the inputs of some adjacent pictures of a frame, and returns what BatchEngine::launch()
  /// needs to wait for them. @param first the number of the first of them in the frame.
  using MakeInputs = std::function<Result<std::shared_ptr<void>>(
      std::span<const Batches::Slot> places, unsigned first)>;

  /// @param batches kept alive by frames that are pending. @param frames maximum number of frames
  /// that are pending at a time. @param pictures maximum per frame. @param join joins the tensors
  /// of pictures that were in several batches.
  BatchMember(std::shared_ptr<Batches> batches, unsigned frames, unsigned pictures,
              JoinTensors join);
  BatchMember(const BatchMember&) = delete;
  BatchMember& operator=(const BatchMember&) = delete;
  ~BatchMember();

  /// Puts all pictures of a frame into a batch, or into several if they do not fit. Waits for
  /// places. @param order see Batches::take(). @param pictures of this frame, at least 1.
  Result<std::unique_ptr<PendingFrame>> begin(uint64_t order, unsigned pictures,
                                              const MakeInputs& make);

  void interrupt(bool on);
  BatchCounts counts() const;

 private:
  struct Shared;
  class Pending;
  std::shared_ptr<Shared> shared_;
};

// Sizes of batches that are worth a session of their own.

/// True if a run of a size is worth it for a number of frames, because a run takes as long as its
/// size whatever part of it is used. Small runs are hardly slower than half as large ones. By the
/// times of YOLOX-Nano and YOLOv8n on an H200.
constexpr bool is_filled(unsigned size, unsigned frames) {
  if (size <= 4) return 2 * frames >= size;
  return size <= 16 ? 4 * frames >= 3 * size : 8 * frames >= 7 * size;
}

/// Returns the size after another one: 4, 8, 16 and so on for frames of one picture. Each size has
/// a session of its own, with the model's weights.
/// @param group number of pictures of a frame with tiles, at least 1.
constexpr unsigned next_size(unsigned size, unsigned group = 1) {
  if (size < group) return group;
  return size == 1 ? 4 : 2 * size;
}

/// Returns the largest batch for a number of frames that may be waiting at a time, in whole groups.
/// More frames are run as several batches.
/// @param max_batch the maximum; in whole groups, it is a size itself.
constexpr unsigned batch_capacity(unsigned frames, unsigned max_batch, unsigned group = 1) {
  if (max_batch < group) return max_batch;
  max_batch -= max_batch % group;
  unsigned capacity = group;
  while (capacity < max_batch) {
    const unsigned next = std::min(next_size(capacity, group), max_batch);
    if (!is_filled(next, frames)) break;
    capacity = next;
  }
  return capacity;
}

// Choice of a session for each element of a model that has several.

/// Counts the users of sessions side by side. Thread-safe.
class Lanes {
 public:
  /// Adds a user to the session that has the fewest, the first one of several. @param count of
  /// sessions, at least 1. @return the session's number.
  unsigned take(unsigned count) {
    const std::lock_guard guard(lock_);
    if (users_.size() < count) users_.resize(count);
    const auto least = std::min_element(users_.begin(), users_.begin() + count);
    ++*least;
    return static_cast<unsigned>(least - users_.begin());
  }

  /// Removes a user that take() added.
  void leave(unsigned lane) {
    const std::lock_guard guard(lock_);
    --users_[lane];
  }

 private:
  std::mutex lock_;
  std::vector<unsigned> users_;  // by session
};

}  // namespace keepbox
