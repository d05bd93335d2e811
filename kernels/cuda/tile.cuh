// SPDX-License-Identifier: LGPL-2.1-or-later
// Greedy suppression of one large class by a block: the next 256 candidates in order that are alive
// are resolved among themselves, and what they keep strikes at all that follow.
#pragma once

#include "kernels/cuda/resolve.cuh"
#include "kernels/cuda/thin.cuh"

namespace keepbox::cuda {

inline constexpr uint32_t kTileWords = 8, kTileSize = kTileWords * kWarp;

struct TileShared {
  uint32_t members[kTileSize];  // of the tile: places in the order
  float4 boxes[kTileSize];
  Verdicts<kTileWords> verdicts;
  uint32_t alive[kBlockKeys / kWarp];  // a bit for each candidate
  uint32_t count, word;                // of members; where the next are looked for
};

/// Lists the next of the alive, from up to 32 words and as many as a tile holds. By one warp.
__device__ inline void next_tile(uint32_t words, TileShared& shared) {
  const uint32_t lane = threadIdx.x % kWarp, word = shared.word + lane;
  const uint32_t bits = word < words ? shared.alive[word] : 0;
  const uint32_t upto = sum_upto(__popc(bits));
  const bool fits = upto <= kTileSize;  // words are taken whole
  uint32_t at = upto - __popc(bits);
  if (fits)
    for (uint32_t rest = bits; rest != 0; rest &= rest - 1)
      shared.members[at++] = word * kWarp + __ffs(rest) - 1;
  if (fits && word < words) shared.alive[word] = 0;
  const uint32_t taken = __popc(__ballot_sync(kFull, fits));
  const uint32_t count = __shfl_sync(kFull, upto, taken - 1);
  __syncwarp();
  if (lane != 0) return;
  shared.count = count;
  shared.word += taken;
}

/// Which of a tile's members overlap which later ones. @param mask kTileWords * kTileSize words.
template <bool kPlain>
__device__ void compare_tile(const DevicePlan& plan, float threshold, const TileShared& shared,
                             uint32_t* mask) {
  const uint32_t lane = threadIdx.x % kWarp;
  for (uint32_t i = threadIdx.x / kWarp; i < shared.count; i += kBlockWarps) {
    const float4 box = shared.boxes[i];
#pragma unroll 2
    for (uint32_t w = 0; w <= i / kWarp; ++w) {
      const uint32_t j = w * kWarp + lane;
      const bool hit = j < i && hits<kPlain>(plan, threshold, shared.boxes[j], box);
      const uint32_t bits = __ballot_sync(kFull, hit);
      if (lane == 0) mask[w * kTileSize + i] = bits;
    }
  }
}

/// Is this thread's member kept?
__device__ inline bool resolve_members(TileShared& shared, const uint32_t* mask) {
  const uint32_t i = threadIdx.x, warp = i / kWarp;
  const bool there = i < shared.count;
  uint32_t earlier[kTileWords];
#pragma unroll
  for (uint32_t w = 0; w < kTileWords; ++w)
    earlier[w] = there && w < warp ? mask[w * kTileSize + i] : 0;
  return resolve(earlier, there ? mask[warp * kTileSize + i] : 0, there, shared.verdicts);
}

/// Strikes at what is alive with what the tile keeps: a warp takes a word of each at a time.
template <bool kPlain>
__device__ void strike_with_tile(const DevicePlan& plan, float threshold, const Dealt& dealt,
                                 TileShared& shared, uint32_t first, uint32_t words,
                                 const uint32_t* order) {
  const uint32_t lane = threadIdx.x % kWarp;
  const uint32_t tasks = (words - shared.word) * kTileWords;
  for (uint32_t task = threadIdx.x / kWarp; task < tasks; task += kBlockWarps) {
    const uint32_t word = shared.word + task / kTileWords, from = task % kTileWords;
    const uint32_t alive = *static_cast<volatile uint32_t*>(&shared.alive[word]);  // as of any time
    const bool was = (alive >> lane & 1) != 0;
    const uint32_t place = was ? first + order[word * kWarp + lane] : 0;
    const float4 box = was ? dealt.boxes[place] : float4{};
    bool struck = false;
    for (uint32_t rest = shared.verdicts.kept[from]; rest != 0; rest &= rest - 1)
      struck |= hits<kPlain>(plan, threshold, shared.boxes[from * kWarp + __ffs(rest) - 1], box);
    const uint32_t dead = __ballot_sync(kFull, was && struck);
    if (was && struck) dealt.keys[place] = kNoKey;
    if (lane == 0 && dead != 0) atomicAnd(&shared.alive[word], ~dead);
  }
}

/// Thins out `count` candidates, at most two a thread, that stand at dealt.keys[first + order[i]].
/// @param mask room for kTileWords * kTileSize words.
template <bool kPlain>
__device__ void thin_by_tiles(const DevicePlan& plan, const Dealt& dealt, TileShared& shared,
                              uint32_t first, uint32_t count, const uint32_t* order,
                              uint32_t* mask, uint32_t (&sums)[kBlockWarps]) {
  const float threshold = threshold_of(plan);
  const uint32_t words = (count + kWarp - 1) / kWarp;
  for (uint32_t w = threadIdx.x; w < words; w += kBlockThreads)
    shared.alive[w] = count - w * kWarp >= kWarp ? kFull : (1u << (count - w * kWarp)) - 1;
  if (threadIdx.x == 0) shared.word = 0;
  __syncthreads();
  uint32_t left = plan.rules.max_detections;
  while (left > 0 && shared.word < words) {
    __syncthreads();
    if (threadIdx.x < kWarp) next_tile(words, shared);
    __syncthreads();
    const bool there = threadIdx.x < shared.count;
    const uint32_t place = there ? first + order[shared.members[threadIdx.x]] : 0;
    if (there) shared.boxes[threadIdx.x] = dealt.boxes[place];
    __syncthreads();
    compare_tile<kPlain>(plan, threshold, shared, mask);
    __syncthreads();
    const bool stays = resolve_members(shared, mask);
    uint32_t all = 0;
    const bool kept = sum_before(stays ? 1 : 0, sums, all) < left && stays;
    left -= min(all, left);
    if (there && !kept) dealt.keys[place] = kNoKey;
    const uint32_t bits = __ballot_sync(kFull, kept);
    if (threadIdx.x % kWarp == 0 && threadIdx.x < kTileSize)
      shared.verdicts.kept[threadIdx.x / kWarp] = bits;
    __syncthreads();
    if (shared.word < words)
      strike_with_tile<kPlain>(plan, threshold, dealt, shared, first, words, order);
    __syncthreads();
  }
  // Beyond the limit.
  for (uint32_t i = threadIdx.x; i < count; i += kBlockThreads)
    if ((shared.alive[i / kWarp] >> i % kWarp & 1) != 0) dealt.keys[first + order[i]] = kNoKey;
  __syncthreads();
}

}  // namespace keepbox::cuda
