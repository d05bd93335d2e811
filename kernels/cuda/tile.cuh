// SPDX-License-Identifier: LGPL-2.1-or-later
// Greedy suppression of one large class by a block: the next 32 candidates in order that are alive
// are resolved among themselves, and what they keep strikes at all that follow.
#pragma once

#include "kernels/cuda/thin.cuh"

namespace keepbox::cuda {

struct TileShared {
  uint32_t members[kWarp];   // of the tile: places in the order
  uint32_t overlaps[kWarp];  // of each member: the members before it that overlap it
  uint32_t count;
};

/// Lists the first 32 of `alive` bits from `word` on, by one warp. @return how many.
__device__ inline uint32_t next_tile(uint32_t* alive, uint32_t words, uint32_t& word,
                                     TileShared& shared) {
  const uint32_t lane = threadIdx.x % kWarp;
  uint32_t found = 0;
  for (; word < words && found < kWarp; ++word) {
    const uint32_t bits = alive[word];
    const uint32_t at = found + __popc(bits & ((1u << lane) - 1));
    const bool mine = (bits >> lane & 1) != 0 && at < kWarp;
    if (mine) shared.members[at] = word * kWarp + lane;
    const uint32_t taken = __ballot_sync(kFull, mine);
    found += __popc(taken);
    __syncwarp();  // all have read it
    if (lane == 0) alive[word] = bits & ~taken;
    __syncwarp();
    if (taken != bits) break;  // the rest is for the next tile
  }
  return found;
}

/// Of up to 32 members with the earlier ones that overlap each, those that are kept.
__device__ inline uint32_t resolve_members(const uint32_t (&overlaps)[kWarp], uint32_t count) {
  const uint32_t lane = threadIdx.x % kWarp, own = lane < count ? overlaps[lane] : 0;
  uint32_t kept = 0, open = count == kWarp ? kFull : (1u << count) - 1;
  while (open != 0) {
    const uint32_t out = __ballot_sync(kFull, (own & kept) != 0) & open;
    open &= ~out;
    const uint32_t in = __ballot_sync(kFull, (own & open) == 0) & open;
    kept |= in;
    open &= ~in;
  }
  return kept;
}

/// Thins out `count` candidates, at most two a thread, that stand at dealt.keys[first + order[i]].
/// @param alive a bit for each of them, all set.
template <bool kPlain>
__device__ void thin_by_tiles(const DevicePlan& plan, const Dealt& dealt, TileShared& shared,
                              uint32_t first, uint32_t count, const uint32_t* order,
                              uint32_t* alive) {
  const uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const float threshold = threshold_of(plan);
  const auto box_of = [&](uint32_t i) { return dealt.boxes[first + order[i]]; };
  uint32_t word = 0, left = plan.max_detections;
  while (left > 0) {
    if (warp == 0) {
      const uint32_t found = next_tile(alive, (count + kWarp - 1) / kWarp, word, shared);
      if (lane == 0) shared.count = found;
    }
    __syncthreads();
    const uint32_t members = shared.count;
    if (members == 0) break;
    const bool earlier = lane < warp && warp < members;  // lane and warp are members
    const bool hit = earlier && hits<kPlain>(plan, threshold, box_of(shared.members[lane]),
                                             box_of(shared.members[warp]));
    const uint32_t bits = __ballot_sync(kFull, hit);
    if (lane == 0) shared.overlaps[warp] = bits;
    __syncthreads();
    uint32_t kept = resolve_members(shared.overlaps, members);  // each warp finds the same
    while (static_cast<uint32_t>(__popc(kept)) > left) kept &= ~(1u << (31 - __clz(kept)));
    left -= __popc(kept);
    if (warp == 0 && lane < members && (kept >> lane & 1) == 0)
      dealt.keys[first + order[shared.members[lane]]] = kNoKey;
    for (uint32_t i = threadIdx.x; i / kWarp * kWarp < count; i += kBlockThreads) {
      bool lives = (alive[i / kWarp] >> lane & 1) != 0;
      const float4 box = lives ? box_of(i) : float4{};
      for (uint32_t rest = kept; rest != 0 && __any_sync(kFull, lives); rest &= rest - 1)
        if (lives && hits<kPlain>(plan, threshold, box_of(shared.members[__ffs(rest) - 1]), box)) {
          lives = false;
          dealt.keys[first + order[i]] = kNoKey;
        }
      const uint32_t living = __ballot_sync(kFull, lives);
      if (lane == 0) alive[i / kWarp] = living;
    }
    __syncthreads();
  }
  __syncthreads();
  // Beyond the limit.
  for (uint32_t i = threadIdx.x; i < count; i += kBlockThreads)
    if ((alive[i / kWarp] >> i % kWarp & 1) != 0) dealt.keys[first + order[i]] = kNoKey;
  __syncthreads();
}

}  // namespace keepbox::cuda
