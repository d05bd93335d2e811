// SPDX-License-Identifier: LGPL-2.1-or-later
// Counters by which blocks synchronise.
#pragma once

#include <cstdint>

namespace keepbox::cuda {

/// Adds with acquire-release order: a thread that reads the sum also sees what the adding block
/// wrote before its last barrier, and this thread sees what earlier adders wrote. @return the
/// previous value.
__device__ inline uint32_t add_acq_rel(uint32_t* to, uint32_t value) {
  uint32_t before;
  asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(to), "r"(value)
               : "memory");
  return before;
}
__device__ inline uint64_t add_acq_rel(uint64_t* to, uint64_t value) {
  uint64_t before;
  asm volatile("atom.add.acq_rel.gpu.global.u64 %0, [%1], %2;"
               : "=l"(before)
               : "l"(to), "l"(value)
               : "memory");
  return before;
}
__device__ inline uint64_t load_acquire(const uint64_t* from) {
  uint64_t value;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}

/// Counters packed into one word: blocks that stopped waiting, blocks that have scanned, anchors
/// above the threshold and candidates, with 9, 11, 22 and 22 bits. There are at most 2^21 anchors,
/// and kMaxBlocks blocks per image.
struct Tally {
  uint64_t word;

  static __device__ Tally of_block(uint32_t above, uint32_t candidates) {
    return {uint64_t{1} << 44 | static_cast<uint64_t>(above) << 22 | candidates};
  }
  __device__ Tally with_timeout() const { return {word + (uint64_t{1} << 55)}; }

  __device__ uint32_t timed_out() const { return static_cast<uint32_t>(word >> 55); }
  __device__ uint32_t blocks() const { return static_cast<uint32_t>(word >> 44) & 0x7ffu; }
  __device__ uint32_t above() const { return static_cast<uint32_t>(word >> 22) & 0x3fffffu; }
  __device__ uint32_t candidates() const { return static_cast<uint32_t>(word) & 0x3fffffu; }
};

/// Waits until all blocks have scanned. Called by one thread. A block that waited for too long is
/// counted, which the last block to scan sees. @param total the sum of counts. @return true if all
/// have scanned.
__device__ inline bool wait_for_scan(uint64_t* tally, uint32_t blocks, long long max_wait_cycles,
                                     Tally& total) {
  const long long start = clock64();
  for (;;) {
    const bool waiting = clock64() - start < max_wait_cycles;
    total = {load_acquire(tally)};
    if (total.blocks() == blocks) return true;
    if (!waiting && atomicCAS(reinterpret_cast<unsigned long long*>(tally), total.word,
                              total.with_timeout().word) == total.word)
      return false;
    __nanosleep(20);
  }
}

}  // namespace keepbox::cuda
