// SPDX-License-Identifier: LGPL-2.1-or-later
// Work of a warp: prefix sums, counters, and the resolution of a block of candidates.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/launches.h"

namespace keepbox::cuda {

// Warp helpers, and sums over the threads of a block.

inline constexpr uint32_t kFull = 0xffffffffu;

/// Returns the words for one bit per candidate.
__host__ __device__ constexpr uint32_t warp_words(uint32_t count) {
  return (count + kWarp - 1) / kWarp;
}

__device__ inline uint32_t lane_id() { return threadIdx.x % kWarp; }
__device__ inline uint32_t warp_id() { return threadIdx.x / kWarp; }
__device__ inline uint32_t lanes_before() { return (1u << lane_id()) - 1; }

/// Returns the inclusive prefix sum over lanes.
__device__ inline uint32_t sum_upto(uint32_t value) {
#pragma unroll
  for (uint32_t step = 1; step < kWarp; step *= 2) {
    const uint32_t other = __shfl_up_sync(kFull, value, step);
    if (lane_id() >= step) value += other;
  }
  return value;
}

/// Returns the sum of `value` over the threads before this one, and over all. Begins with a
/// barrier.
/// @tparam kWarps per block, at most 32.
template <uint32_t kWarps>
__device__ uint32_t sum_before(uint32_t value, uint32_t (&sums)[kWarps], uint32_t& all) {
  static_assert(kWarps <= kWarp, "a lane reads the sum of each warp");
  const uint32_t upto = sum_upto(value);
  __syncthreads();
  if (lane_id() == kWarp - 1) sums[warp_id()] = upto;
  __syncthreads();
  const uint32_t warps = sum_upto(lane_id() < kWarps ? sums[lane_id()] : 0);
  all = __shfl_sync(kFull, warps, kWarp - 1);
  const uint32_t before = __shfl_sync(kFull, warps, (warp_id() + kWarp - 1) % kWarp);
  return upto - value + (warp_id() == 0 ? 0 : before);
}

__device__ inline uint32_t warp_min(uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(kFull, value);
#else
  for (uint32_t step = kWarp / 2; step > 0; step /= 2)
    value = min(value, __shfl_xor_sync(kFull, value, step));
  return value;
#endif
}

// Counters by which blocks synchronise.

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

// Determines which of some ordered candidates are kept, from their overlaps.

/// Settles candidates of one word among themselves as far as possible.
__device__ inline void settle_word(uint32_t own, bool suppressed, bool waits, bool& open,
                                   bool& kept) {
  for (;;) {
    const uint32_t kept_bits = __ballot_sync(kFull, kept), open_bits = __ballot_sync(kFull, open);
    if (open && (suppressed || (own & kept_bits) != 0)) open = false;
    if (open && !waits && (own & open_bits) == 0) {
      open = false;
      kept = true;
    }
    if (__ballot_sync(kFull, open) == open_bits) return;
  }
}

/// One bit per candidate.
template <uint32_t kWords>
struct ResolveBits {
  alignas(16) uint32_t kept[kWords];
  alignas(16) uint32_t open[kWords];
};

/// Resolves candidates: one is kept if all earlier ones that overlap it are dropped, and dropped if
/// one of them is kept. Called by all threads, one per candidate. @param mask bits of overlapping
/// candidates in earlier words. @param own bits of earlier ones in its own word. @param open true
/// if there is a candidate.
/// @return true if it is kept. Ends with a barrier.
template <uint32_t kWords>
__device__ bool resolve(const uint32_t (&mask)[kWords], uint32_t own, bool open,
                        ResolveBits<kWords>& shared) {
  const uint32_t lane = lane_id(), warp = warp_id();
  bool kept = false;
  for (;;) {
    const uint32_t open_bits = __ballot_sync(kFull, open), kept_bits = __ballot_sync(kFull, kept);
    if (lane == 0 && warp < kWords) {
      shared.open[warp] = open_bits;
      shared.kept[warp] = kept_bits;
    }
    if (__syncthreads_or(open) == 0) return kept;
    uint32_t suppressed = 0, waits = 0;
#pragma unroll
    for (uint32_t w = 0; w < kWords; ++w) {
      suppressed |= mask[w] & shared.kept[w];
      waits |= mask[w] & shared.open[w];
    }
    settle_word(own, suppressed != 0, waits != 0, open, kept);
    __syncthreads();
  }
}

}  // namespace keepbox::cuda
