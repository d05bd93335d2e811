// SPDX-License-Identifier: LGPL-2.1-or-later
// Waits for memory in a loop.
#pragma once

#include <chrono>
#include <thread>

namespace keepbox::cuda {

using Microseconds = std::chrono::microseconds;

/// Duration of most frames: spinning reacts some microseconds faster than a blocking wait.
inline constexpr Microseconds kSpin{40};
/// Duration of yielding to other threads between polls.
inline constexpr Microseconds kYield{200};

/// Hints to the processor that a loop waits for memory.
inline void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Polls `done` until it is true or the time is over; yields to other threads after a while.
template <class Done>
bool spin(Microseconds limit, Microseconds alone, Done done) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      pause_processor();
    }
    const auto spent = std::chrono::steady_clock::now() - start;
    if (spent >= limit) return false;
    if (spent >= alone) std::this_thread::yield();
  }
}

}  // namespace keepbox::cuda
