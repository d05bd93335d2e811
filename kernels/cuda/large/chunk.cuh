// SPDX-License-Identifier: LGPL-2.1-or-later
// A chunk: the best 1,024 alive candidates, which are compared with each other and resolved by one
// block.
#pragma once

#include "kernels/cuda/device/resolve.cuh"
#include "kernels/cuda/large/conflicts.cuh"
#include "kernels/cuda/large/overlaps.cuh"
#include "kernels/cuda/large/sweep.cuh"

namespace keepbox::cuda {

/// Scratch space after the marks: numbers of kept and of empty boxes and counts of
/// spatial_bins.cuh, cleared up to here; bounds of spatial_bins.cuh, the chunk's overlaps, and
/// conflicts.
struct GreedyWords {
  Marks marks;
  uint32_t* kept;
  uint32_t* clipped;
  uint32_t* counts;
  uint32_t* bounds;
  uint32_t* mask;  // [word][candidate]: bits of the candidates of a word that overlap it
  Conflicts conflicts;

  __host__ __device__ GreedyWords(uint32_t* words, uint32_t count)
      : marks(words, count),
        kept(words + Marks::words(count)),
        clipped(kept + 1),
        counts(kept + 2),
        bounds(words + cleared(count)),
        mask(bounds + warp_words(count) * 4),
        conflicts(mask + kChunkWords * kChunk, count) {}

  /// Returns a size in whole float4.
  __host__ __device__ static constexpr size_t cleared(uint32_t count) {
    return (Marks::words(count) + 2 + kSpatialBins + 3) / 4 * 4;
  }
  static constexpr size_t words(uint32_t count) {
    return cleared(count) + warp_words(count) * 4 + kChunkWords * kChunk +
           Conflicts::words(count < kMaxListing ? count : kMaxListing);
  }
};

struct ChunkShared {
  uint32_t chunk[kChunk];  // indices in `ordered`
  uint64_t keys[kChunk];
  float4 boxes[kChunk];
  float areas[kChunk];
  uint32_t starts[kSpatialBins];
  ResolveBits<kChunkWords> resolve_bits;
  SliceShared slice;
  uint16_t classes[kNmsThreads];
};

struct GreedyShared {
  uint32_t sums[kNmsWarps];
  union {
    ChunkShared work;
    EmitShared<kNmsThreads> emit;
  };
};

/// Lists the next alive candidates, from word `cursor`. Every block gets the same result.
/// @return their number; `cursor` is advanced.
__device__ inline uint32_t next_chunk(const uint32_t* dead, uint32_t count, uint32_t& cursor,
                                      GreedyShared& shared) {
  uint32_t found = 0;
  const uint32_t words = warp_words(count);
  while (cursor < words && found < kChunk) {
    const uint32_t word = cursor + threadIdx.x;
    uint32_t alive = 0;
    if (word < words) {
      alive = ~__ldcg(dead + word);
      if (word == words - 1 && count % kWarp != 0) alive &= (1u << count % kWarp) - 1;
    }
    uint32_t all = 0;
    uint32_t at = found + sum_before(__popc(alive), shared.sums, all);
    const bool fits = at + __popc(alive) <= kChunk;
    if (fits)
      for (uint32_t rest = alive; rest != 0; rest &= rest - 1)
        shared.work.chunk[at++] = word * kWarp + __ffs(rest) - 1;
    // Words are taken as a whole; one that does not fit starts the next chunk.
    const uint32_t taken = __syncthreads_count(fits);
    if (found + all <= kChunk) {
      found += all;
      cursor += kNmsThreads;
      continue;
    }
    cursor += taken;
    sum_before(fits ? __popc(alive) : 0, shared.sums, all);
    return found + all;
  }
  return found;
}

/// A chunk's candidates by rank.
struct ChunkOrder {
  const ChunkShared& shared;

  __device__ uint64_t key(uint32_t rank) const { return shared.keys[rank]; }
  __device__ float4 box(uint32_t rank) const { return shared.boxes[rank]; }
  template <class Shape>
  __device__ float area(uint32_t rank, const Shape&) const {
    return shared.areas[rank];
  }
};

/// Computes the overlaps of a chunk's candidates with later ones. Every block reads the whole
/// chunk.
template <BoxGeometry Geometry>
__device__ void compare_chunk(const DevicePlan& plan, const LargeArgs& args,
                              const GreedyWords& words, ChunkShared& shared, uint32_t count) {
  if (threadIdx.x < count) {
    const uint32_t place = shared.chunk[threadIdx.x];
    shared.keys[threadIdx.x] = args.ordered.keys[place];
    const float4 box = args.ordered.boxes[place];
    const auto shape = shape_of<Geometry>(plan, box, shared.keys[threadIdx.x]);
    shared.boxes[threadIdx.x] = box;
    shared.areas[threadIdx.x] = area_of<Geometry>(plan, shape);
  }
  __syncthreads();
  write_overlaps<Geometry>(plan, ChunkOrder{shared}, count, words.mask, kChunk);
}

/// Resolves a chunk in one block; @return true if this thread's candidate is kept.
__device__ inline bool resolve_chunk(const GreedyWords& words, ChunkShared& shared,
                                     uint32_t count) {
  const uint32_t i = threadIdx.x, warp = warp_id();
  uint32_t mask[kChunkWords];
#pragma unroll
  for (uint32_t w = 0; w < kChunkWords; ++w)
    mask[w] = i < count && w < warp ? __ldcg(words.mask + w * kChunk + i) : 0;
  const uint32_t own = i < count ? __ldcg(words.mask + warp * kChunk + i) : 0;
  return resolve(mask, own, i < count, shared.resolve_bits);
}

}  // namespace keepbox::cuda
