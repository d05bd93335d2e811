// SPDX-License-Identifier: LGPL-2.1-or-later
// Hint to the processor in a loop that waits for memory.
#pragma once

namespace keepbox::cuda {

inline void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace keepbox::cuda
