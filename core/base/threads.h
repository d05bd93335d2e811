// SPDX-License-Identifier: LGPL-2.1-or-later
// Interface of thread pools, and the request to end a long computation early.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace keepbox {

// Thread pool interface, for work that can be split.

class ThreadPool {
 public:
  virtual ~ThreadPool() = default;

  /// Returns the maximum number of threads at work, including the caller's; at least 1.
  virtual uint32_t size() const = 0;

  /// Calls part(context, i) once for each i in 0 .. parts - 1, on any thread and in any order, and
  /// returns when all calls have returned. Never fails: the caller's thread runs what no other
  /// thread takes.
  /// @pre parts <= size(). Not thread-safe.
  virtual void run(uint32_t parts, void (*part)(void* context, uint32_t i), void* context) = 0;
};

inline constexpr uint32_t kMaxThreads = 64;

/// Returns a pool of up to `threads` threads including the caller's, fewer if the system refuses
/// some; nullptr for one.
std::unique_ptr<ThreadPool> make_worker_threads(uint32_t threads);

// Request to end a long computation early.

/// A flag that another thread sets, or none. Kernels check it between kept boxes, or between
/// candidates with many comparisons; the results are then undefined.
class Stop {
 public:
  Stop() = default;
  explicit Stop(const std::atomic<bool>* flag) : flag_(flag) {}

  bool requested() const { return flag_ != nullptr && flag_->load(std::memory_order_relaxed); }

 private:
  const std::atomic<bool>* flag_ = nullptr;
};

}  // namespace keepbox
