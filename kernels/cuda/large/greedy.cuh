// SPDX-License-Identifier: LGPL-2.1-or-later
// Greedy suppression of many candidates by all blocks. The best 1,024 alive candidates are compared
// with each other, one block resolves them, and the kept ones suppress all candidates near them
// (nms.cuh). If many more boxes are wanted, the rest is decided at once (conflicts.cuh).
#pragma once

#include <cooperative_groups.h>

#include "kernels/cuda/device/warp.cuh"
#include "kernels/cuda/large/conflicts.cuh"
#include "kernels/cuda/large/methods.cuh"
#include "kernels/cuda/large/nms.cuh"

namespace keepbox::cuda {

// Suppression of candidates by kept boxes near them.

inline constexpr uint32_t kSlice = 256;  // maximum kept boxes per task

struct SliceShared {
  uint64_t keys[kSlice];
  float4 boxes[kSlice];
  float areas[kSlice];
};

/// Returns the bits of up to 64 boxes of a slice, from `first`, that may overlap one of a group.
template <BoxGeometry Geometry>
__device__ uint64_t boxes_touching(const DevicePlan& plan, const SliceShared& shared,
                                   const Box& group, uint32_t first, uint32_t end) {
  const bool all = !disjoint_never_overlap(plan.rules);
  uint64_t out = 0;
#pragma unroll
  for (uint32_t half = 0; half < 2; ++half) {
    const uint32_t k = first + half * kWarp + lane_id();
    const uint32_t at = min(k, kSlice - 1);
    const auto shape = shape_of<Geometry>(plan, shared.boxes[at], shared.keys[at]);
    const bool may = k < end && (all || touch(group, Geometry::bounds(shape, plan.rules)));
    out |= static_cast<uint64_t>(__ballot_sync(kFull, may)) << half * kWarp;
  }
  return out;
}

/// Suppresses a group of candidates, one per lane, by a slice of kept boxes.
template <BoxGeometry Geometry>
__device__ void suppress_group(const DevicePlan& plan, const SpatialBins& spatial,
                               const SliceShared& shared, uint32_t* dead, uint32_t count,
                               uint32_t group, uint32_t boxes) {
  const Box bounds = to_box(spatial.bounds[group]);
  const uint32_t place = min(group * kWarp + lane_id(), count - 1);
  const uint64_t rank_and_key = spatial.rank_and_key[place];
  const auto shape = shape_of<Geometry>(plan, spatial.boxes[place], rank_and_key);
  const float area = area_of<Geometry>(plan, shape);
  bool suppressed = false;
  for (uint32_t first = 0; first < boxes; first += 64) {
    for (uint64_t rest = boxes_touching<Geometry>(plan, shared, bounds, first, boxes); rest != 0;
         rest &= rest - 1) {
      const uint32_t k = first + __ffsll(static_cast<long long>(rest)) - 1;
      const auto kept = shape_of<Geometry>(plan, shared.boxes[k], shared.keys[k]);
      suppressed |= same_class(plan.rules.contract, shared.keys[k], rank_and_key) &
                    hits<Geometry>(plan.rules, kept, shared.areas[k], shape, area);
    }
  }
  const auto rank = static_cast<uint32_t>(rank_and_key >> 32);
  if (suppressed) atomicOr(dead + rank / kWarp, 1u << rank % kWarp);
}

/// Suppresses by the kept boxes from `first` to `end`: a block handles one group per warp and one
/// slice of boxes at a time. @param dead one bit per candidate, by rank.
template <BoxGeometry Geometry>
__device__ void sweep(const DevicePlan& plan, const Boxes& kept, const SpatialBins& spatial,
                      SliceShared& shared, uint32_t* dead, uint32_t count, uint32_t first,
                      uint32_t end) {
  const uint32_t groups = warp_words(count), rounds = (groups + kNmsWarps - 1) / kNmsWarps;
  // Small enough for two tasks per block.
  const uint32_t fair = rounds * (end - first) / (2 * gridDim.x);
  const uint32_t slice = min((fair / kWarp + 1) * kWarp, kSlice);
  const uint32_t slices = (end - first + slice - 1) / slice;
  for (uint32_t task = blockIdx.x; task < rounds * slices; task += gridDim.x) {
    const uint32_t from = first + task % slices * slice, boxes = min(slice, end - from);
    __syncthreads();
    if (threadIdx.x < boxes) {
      const uint64_t key = __ldcg(kept.keys + from + threadIdx.x);
      const float4 box = __ldcg(kept.boxes + from + threadIdx.x);
      shared.keys[threadIdx.x] = key;
      shared.boxes[threadIdx.x] = box;
      shared.areas[threadIdx.x] = area_of<Geometry>(plan, shape_of<Geometry>(plan, box, key));
    }
    __syncthreads();
    const uint32_t group = task / slices * kNmsWarps + warp_id();
    if (group < groups) suppress_group<Geometry>(plan, spatial, shared, dead, count, group, boxes);
  }
}

// A chunk: the best 1,024 alive candidates, which are compared with each other and resolved by one
// block.

/// Scratch space after the marks: numbers of kept and of empty boxes and counts of
/// nms.cuh, cleared up to here; bounds of nms.cuh, the chunk's overlaps, and
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

namespace cg = cooperative_groups;

/// Appends the kept candidates of a chunk, up to the limits.
__device__ inline void append(const DevicePlan& plan, const LargeArgs& args,
                              const GreedyWords& words, GreedyShared& shared, bool kept,
                              uint32_t before) {
  ChunkShared& chunk = shared.work;
  if (plan.rules.limits_classes())
    kept = admit(plan.rules.class_limit, kept, chunk.keys[threadIdx.x], chunk.classes,
                 words.marks.of_class);
  uint32_t all = 0;
  const uint32_t at = before + sum_before(kept ? 1 : 0, shared.sums, all);
  if (kept && at < plan.limit()) {
    args.kept.keys[at] = chunk.keys[threadIdx.x];
    args.kept.boxes[at] = chunk.boxes[threadIdx.x];
  }
  if (threadIdx.x == 0) *words.kept = min(before + all, plan.limit());
}

/// Marks candidates of full classes as dead. All warps process one word at a time.
__device__ inline void close_classes(const DevicePlan& plan, const LargeArgs& args,
                                     const GreedyWords& words, uint32_t count) {
  if (!plan.rules.limits_classes()) return;
  const uint32_t warps = gridDim.x * kNmsWarps;
  for (uint32_t word = blockIdx.x * kNmsWarps + warp_id(); word < warp_words(count);
       word += warps) {
    const uint32_t i = min(word * kWarp + lane_id(), count - 1);
    const uint32_t own = key_class(args.ordered.keys[i]);
    const bool full = __ldcg(words.marks.of_class + own) >= plan.rules.class_limit;
    const uint32_t bits = __ballot_sync(kFull, full);
    if (lane_id() == 0 && bits != 0) atomicOr(words.marks.dead + word, bits);
  }
}

/// Writes out the kept boxes; each block handles some of them.
__device__ inline void emit_kept(const DevicePlan& plan, const LargeArgs& args,
                                 const GreedyWords& words, GreedyShared& shared, uint32_t total) {
  uint32_t clipped = 0;
  for (uint32_t base = blockIdx.x * kNmsThreads; base < total; base += gridDim.x * kNmsThreads) {
    const uint32_t i = base + threadIdx.x;
    const bool there = i < total;
    emit(plan, shared.emit, there, there ? __ldcg(args.kept.keys + i) : 0,
         there ? __ldcg(args.kept.boxes + i) : float4{}, args.out.from(base), clipped);
  }
  if (threadIdx.x == 0 && clipped != 0) atomicAdd(words.clipped, clipped);
  cg::this_grid().sync();
  if (blockIdx.x == 0 && threadIdx.x == 0) report_done(args, total, __ldcg(words.clipped));
}

/// Appends the candidates that decide_all() kept, from rank `first` on; each block copies some.
/// @return the new number of kept boxes.
__device__ inline uint32_t append_decided(const LargeArgs& args, const Conflicts& conflicts,
                                          GreedyShared& shared, uint32_t count, uint32_t first,
                                          uint32_t total, uint32_t limit) {
  uint32_t(&starts)[kChunk] = shared.work.starts;
  uint32_t(&kept)[kChunk] = shared.work.chunk;
  const uint32_t words = warp_words(count);
  for (uint32_t base = first / kWarp; base < words && total < limit; base += kNmsThreads) {
    const uint32_t word = base + threadIdx.x;
    const uint32_t bits = word < words ? __ldcg(conflicts.kept + word) : 0;
    uint32_t all = 0;
    starts[threadIdx.x] = total + sum_before(__popc(bits), shared.sums, all);
    kept[threadIdx.x] = bits;
    __syncthreads();
    for (uint32_t w = blockIdx.x + warp_id() * gridDim.x; w < kNmsThreads;
         w += kNmsWarps * gridDim.x) {
      const uint32_t at = starts[w] + __popc(kept[w] & lanes_before());
      const uint32_t rank = (base + w) * kWarp + lane_id();
      if ((kept[w] >> lane_id() & 1) == 0 || at >= limit) continue;
      args.kept.keys[at] = args.ordered.keys[rank];
      args.kept.boxes[at] = args.ordered.boxes[rank];
    }
    total += all;
  }
  return min(total, limit);
}

/// Copies candidates to their bins in the blocks that do not resolve the chunk.
__device__ inline void fill_in_idle_blocks(const DevicePlan& plan, const LargeArgs& args,
                                           const SpatialBins& spatial, GreedyShared& shared,
                                           uint32_t count) {
  const uint32_t idle = max(gridDim.x - 1, 1u), first = gridDim.x - idle;
  if (blockIdx.x >= first)
    fill_spatial_bins(plan, args, spatial, count, blockIdx.x - first, idle, shared.work.starts,
                      shared.sums);
}

/// Rounds in which decide_rest() is tried: the first one, and after each failure twice as many
/// rounds later as before.
struct Attempts {
  uint32_t left = 0, pause = 1;

  /// True if it is to be tried in this round.
  __device__ bool due() { return left == 0 || --left == 0; }
  __device__ void fail() { left = pause *= 2; }
};

/// Decides all candidates from rank `first` on and appends the kept ones, if many boxes are wanted.
/// Called by all blocks. @param total kept boxes; updated. @return false if nothing was decided.
template <BoxGeometry Geometry>
__device__ bool finish_rest(const DevicePlan& plan, const LargeArgs& args,
                            const SpatialBins& spatial, const GreedyWords& words,
                            GreedyShared& shared, Attempts& attempts, uint32_t count,
                            uint32_t first, uint32_t& total) {
  const bool many = plan.limit() - total > kChunk && count <= kMaxListing;
  if (!many || plan.rules.limits_classes() || !attempts.due()) return false;
  if (!decide_rest<Geometry>(plan, spatial, words.conflicts, words.marks.dead, count, first)) {
    attempts.fail();
    return false;
  }
  total = append_decided(args, words.conflicts, shared, count, first, total, plan.limit());
  cg::this_grid().sync();
  return true;
}

/// Suppresses `ordered` and writes out the kept boxes. Called by all blocks. @param count of
/// ordered candidates. @pre the scratch space is cleared.
template <BoxGeometry Geometry>
__device__ void suppress_greedily(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                                  GreedyShared& shared) {
  const auto grid = cg::this_grid();
  const GreedyWords words(args.words, count);
  const SpatialBins spatial = spatial_bins_in(args, words.counts, words.bounds);
  count_spatial_bins(plan, args, spatial, count);
  bool binned = false;
  Attempts attempts;
  uint32_t cursor = 0, total = 0;
  while (total < plan.limit()) {
    const uint32_t in_chunk = next_chunk(words.marks.dead, count, cursor, shared);
    if (in_chunk == 0) break;
    __syncthreads();
    compare_chunk<Geometry>(plan, args, words, shared.work, in_chunk);
    grid.sync();
    if (blockIdx.x == 0)
      append(plan, args, words, shared, resolve_chunk(words, shared.work, in_chunk), total);
    if (!binned) fill_in_idle_blocks(plan, args, spatial, shared, count);
    grid.sync();
    const uint32_t first = total;
    total = __ldcg(words.kept);
    if (total >= plan.limit() || cursor * kWarp >= count) continue;
    if (!binned) {
      bound_spatial_bins<Geometry>(plan, spatial, count);
      grid.sync();
      binned = true;
    }
    sweep<Geometry>(plan, args.kept, spatial, shared.work.slice, words.marks.dead, count, first,
                    total);
    close_classes(plan, args, words, count);
    grid.sync();
    if (finish_rest<Geometry>(plan, args, spatial, words, shared, attempts, count, cursor * kWarp,
                              total))
      break;
  }
  __syncthreads();
  emit_kept(plan, args, words, shared, total);
}

template <BoxGeometry Geometry>
__global__ void __launch_bounds__(kNmsThreads, 1)
    greedy(const __grid_constant__ DevicePlan plan, const __grid_constant__ LargeArgs args) {
  __shared__ GreedyShared shared;
  static_assert(sizeof shared <= 48 << 10, "more than every device has");
  suppress_greedily<Geometry>(plan, args, min(args.count, plan.rules.pre_nms_top_k), shared);
}

/// Launches with fewer blocks if the device is shared or only partly available; uses a mask, with
/// the same result, if cooperative launches are not supported.
template <BoxGeometry Geometry>
cudaError_t launch_greedy(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                          uint32_t blocks, cudaStream_t stream) {
  cudaError_t error =
      cudaMemsetAsync(args.words, 0, GreedyWords::cleared(count) * sizeof(uint32_t), stream);
  void* arguments[] = {const_cast<DevicePlan*>(&plan), const_cast<LargeArgs*>(&args)};
  for (; error == cudaSuccess && blocks > 0; blocks /= 2) {
    error = cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(greedy<Geometry>),
                                        dim3(blocks), dim3(kNmsThreads), arguments, 0, stream);
    if (error != cudaErrorCooperativeLaunchTooLarge) return error;
    error = cudaGetLastError() == error ? cudaSuccess : error;
  }
  return error == cudaSuccess ? launch_bitmask<Geometry>(plan, args, count, stream) : error;
}

}  // namespace keepbox::cuda
