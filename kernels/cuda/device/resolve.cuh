// SPDX-License-Identifier: LGPL-2.1-or-later
// Determines which of some ordered candidates are kept, from their overlaps.
#pragma once

#include "kernels/cuda/device/warp.cuh"

namespace keepbox::cuda {

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
