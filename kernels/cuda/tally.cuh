// SPDX-License-Identifier: LGPL-2.1-or-later
// One atomic addition with which a block reports and learns whether it is the last.
#pragma once

#include <cstdint>

namespace keepbox::cuda {

/// Blocks that have finished, anchors above the threshold and candidates, in one word: 16, 24 and
/// 24 bits. Anchors are below 2^21.
struct Tally {
  unsigned long long word;

  __device__ Tally(uint32_t above, uint32_t candidates)
      : word(1ull << 48 | static_cast<unsigned long long>(above) << 24 | candidates) {}

  /// Adds to `total`, and becomes what that then holds.
  __device__ void add_to(uint64_t* total) {
    word += atomicAdd(reinterpret_cast<unsigned long long*>(total), word);
  }
  __device__ uint32_t blocks() const { return static_cast<uint32_t>(word >> 48); }
  __device__ uint32_t above() const { return static_cast<uint32_t>(word >> 24) & 0xffffffu; }
  __device__ uint32_t candidates() const { return static_cast<uint32_t>(word) & 0xffffffu; }
};

}  // namespace keepbox::cuda
