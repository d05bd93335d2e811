// SPDX-License-Identifier: LGPL-2.1-or-later
// Time that a thread has computed, which other processes do not prolong.
#pragma once

#include <time.h>

#include <chrono>

namespace keepbox::test {

/// Returns the processor time of the calling thread.
inline std::chrono::nanoseconds cpu_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace keepbox::test
