// SPDX-License-Identifier: LGPL-2.1-or-later
// Waits for memory in a loop.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "core/base/cpulimits.h"

namespace keepbox::cuda {

using Microseconds = std::chrono::microseconds;

/// Duration of most frames: spinning reacts some microseconds faster than a blocking wait.
inline constexpr Microseconds kSpin{40};
/// Duration of yielding to other threads between polls.
inline constexpr Microseconds kYield{200};
/// Durations of spinning, and of sleeping between polls, if more threads wait than there are
/// processors. Linux adds 50 us to the sleep by default. A thread that spins would keep its
/// processor for a time slice of milliseconds, and one that yields may get it back at once, while
/// others wait for it.
inline constexpr Microseconds kCrowdedSpin{5}, kNap{10};

/// Counts the threads of the process that wait in spin().
class WaitingThread {
 public:
  WaitingThread() { count_.fetch_add(1, std::memory_order_relaxed); }
  ~WaitingThread() { count_.fetch_sub(1, std::memory_order_relaxed); }
  WaitingThread(const WaitingThread&) = delete;
  WaitingThread& operator=(const WaitingThread&) = delete;

  /// True if more threads wait than there are processors for the process.
  static bool is_crowded() {
    static const unsigned processors = read_cpu_limits().usable();
    return count_.load(std::memory_order_relaxed) > processors;
  }

 private:
  static inline std::atomic<unsigned> count_;
};

/// Hints to the processor that a loop waits for memory.
inline void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Polls `done` until it is true or the time is over; leaves the processor to other threads after a
/// while.
template <class Done>
bool spin(Microseconds limit, Microseconds alone, Done done) {
  const WaitingThread waiting;
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      pause_processor();
    }
    const auto spent = std::chrono::steady_clock::now() - start;
    if (spent >= limit) return false;
    if (spent >= kCrowdedSpin && WaitingThread::is_crowded()) std::this_thread::sleep_for(kNap);
    else if (spent >= alone) std::this_thread::yield();
  }
}

}  // namespace keepbox::cuda
