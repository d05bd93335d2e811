// SPDX-License-Identifier: LGPL-2.1-or-later
// Gathers pictures of several elements into batches, and runs them in order.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gst/infer/batch/engine.h"

namespace keepbox {

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

  /// Reserves a place in the open batch. Waits while that is full; then the lowest `order` is
  /// first, and members with more than their share of the batch are last. kInterrupted if the
  /// member is stopped.
  /// @param order the time at which the picture is due, in any unit that all members share.
  Result<Slot> take(Member& member, uint64_t order);
  /// Reserves adjacent places for the pictures of a frame: for all of them if a batch holds that
  /// many, otherwise for as many as are free in the open batch.
  /// @param pictures without a place, at least 1. @param before pictures of the frame that have
  /// places in earlier batches; a frame counts in the member's share once. @param unused number of
  /// pictures by which the frame has less than join() announced; nothing waits for these.
  Result<std::vector<Slot>> take_adjacent(Member& member, uint64_t order, unsigned pictures,
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
    unsigned pictures, before;  // see take_adjacent()

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

}  // namespace keepbox
