// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression in one pass and by bit masks. As in segmented.cuh, dead candidates are marked with
// one bit each, and alive ones are collected in order.
#pragma once

#include "kernels/cuda/large/nms.cuh"

namespace keepbox::cuda {

inline constexpr uint32_t kOnceThreads = 256;

/// Marks the candidates of a word that any earlier candidate suppresses, dead or not. A warp
/// compares 32 candidates with 32 earlier ones. Called by all threads of a block.
template <BoxGeometry Geometry>
__device__ void suppress_word(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                              uint32_t word) {
  const uint32_t warps = blockDim.x / kWarp, i = word * kWarp + lane_id();
  bool alive = i < count;
  const uint64_t key = alive ? args.ordered.keys[i] : 0;
  const auto shape = shape_of<Geometry>(plan, alive ? args.ordered.boxes[i] : float4{}, key);
  const float area = area_of<Geometry>(plan, shape);
  for (uint32_t first = warp_id() * kWarp; first <= word * kWarp; first += warps * kWarp)
    for (uint32_t j = first; j < min(first + kWarp, count) && __any_sync(kFull, alive); ++j) {
      const uint64_t better = __ldcg(args.ordered.keys + j);
      const auto other = shape_of<Geometry>(plan, __ldcg(args.ordered.boxes + j), better);
      if (alive && j < i && same_class(plan.rules.contract, better, key) &&
          hits<Geometry>(plan.rules, other, area_of<Geometry>(plan, other), shape, area))
        alive = false;
    }
  const uint32_t dead = __ballot_sync(kFull, i < count && !alive);
  if (lane_id() == 0 && dead != 0) atomicOr(args.words + word, dead);
}

template <BoxGeometry Geometry>
__global__ void __launch_bounds__(kOnceThreads)
    suppress_once(const __grid_constant__ DevicePlan plan, const __grid_constant__ LargeArgs args,
                  uint32_t count) {
  suppress_word<Geometry>(plan, args, count, blockIdx.x);
}

template <BoxGeometry Geometry>
cudaError_t launch_fast(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                        cudaStream_t stream) {
  const cudaError_t error = clear_marks(args, count, stream);
  if (error != cudaSuccess) return error;
  if (count != 0)
    suppress_once<Geometry><<<warp_words(count), kOnceThreads, 0, stream>>>(plan, args, count);
  return launch_collect(plan, args, count, stream);
}

/// Memory of the block that collects alive candidates.
struct CollectShared {
  EmitShared<kNmsThreads> emit;
  uint16_t classes[kNmsThreads];
};

/// Writes out alive candidates in order. Called by all threads of one block.
__device__ inline void collect_alive(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                                     CollectShared& shared) {
  const Marks marks(args.words, count);
  const uint32_t limit = plan.limit();
  uint32_t kept = 0, clipped = 0;
  for (uint32_t base = 0; base < count && kept < limit; base += kNmsThreads) {
    const uint32_t i = min(base + threadIdx.x, count - 1);
    const uint64_t key = args.ordered.keys[i];
    bool stays = base + threadIdx.x < count && !is_dropped(key) && !is_dead(marks.dead, i);
    if (plan.rules.limits_classes())
      stays = admit(plan.rules.class_limit, stays, key, shared.classes, marks.of_class);
    uint32_t all = 0;
    const uint32_t before = sum_before(stays ? 1 : 0, shared.emit.sums, all);
    kept += emit(plan, shared.emit, stays && kept + before < limit, key, args.ordered.boxes[i],
                 args.out.from(kept), clipped);
  }
  if (threadIdx.x == 0) report_done(args, kept, clipped);
}

__host__ __device__ constexpr uint32_t tiles_of(uint32_t count) {
  return (count + kTile - 1) / kTile;
}

/// Number of tiles of mask rows in memory at a time.
inline constexpr uint32_t kStripe = 16;

/// Scratch space after the marks: number of kept boxes; one bit per removed box; and some rows of
/// the mask, each with one word per 64 boxes, in which bits stand for overlaps with later boxes.
struct MaskWords {
  Marks marks;
  uint32_t* kept;
  unsigned long long* removed;
  unsigned long long* rows;

  __host__ __device__ MaskWords(uint32_t* words, uint32_t count)
      : marks(words, count),
        kept(words + Marks::words_aligned(count)),
        removed(reinterpret_cast<unsigned long long*>(kept + 2)),
        rows(removed + tiles_of(count)) {}

  /// Returns the size up to the rows.
  static constexpr size_t cleared(uint32_t count) {
    return Marks::words_aligned(count) + 2 + size_t{2} * tiles_of(count);
  }
  static constexpr size_t words(uint32_t count) {
    return cleared(count) + size_t{2} * kStripe * kTile * tiles_of(count);
  }
};

template <BoxGeometry Geometry>
__global__ void __launch_bounds__(kTile)
    mask_tile(const __grid_constant__ DevicePlan plan, const __grid_constant__ LargeArgs args,
              uint32_t count, uint32_t first_tile) {
  const uint32_t row_tile = first_tile + blockIdx.z;
  if (blockIdx.x < row_tile) return;  // columns before rows
  __shared__ uint64_t keys[kTile];
  __shared__ float4 boxes[kTile];
  const uint32_t column = blockIdx.x * kTile, row = row_tile * kTile + threadIdx.x;
  if (column + threadIdx.x < count) {
    keys[threadIdx.x] = args.ordered.keys[column + threadIdx.x];
    boxes[threadIdx.x] = args.ordered.boxes[column + threadIdx.x];
  }
  __syncthreads();
  if (row >= count) return;
  const uint64_t key = args.ordered.keys[row];
  const auto shape = shape_of<Geometry>(plan, args.ordered.boxes[row], key);
  const float area = area_of<Geometry>(plan, shape);
  unsigned long long bits = 0;
  for (uint32_t j = 0; j < min(kTile, count - column); ++j) {
    const auto other = shape_of<Geometry>(plan, boxes[j], keys[j]);
    if (column + j > row && same_class(plan.rules.contract, key, keys[j]) &&
        hits<Geometry>(plan.rules, shape, area, other, area_of<Geometry>(plan, other)))
      bits |= 1ull << j;
  }
  const size_t at = size_t{blockIdx.z} * kTile + threadIdx.x;
  MaskWords(args.words, count).rows[at * tiles_of(count) + blockIdx.x] = bits;
}

/// Reduces some rows, starting with their first box: a box that is not removed removes those in its
/// row.
cudaError_t launch_reduce(const LargeArgs& args, uint32_t count, uint32_t first_tile,
                          uint32_t limit, cudaStream_t stream);

template <BoxGeometry Geometry>
cudaError_t launch_bitmask(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                           cudaStream_t stream) {
  const uint32_t tiles = tiles_of(count);
  cudaError_t error =
      cudaMemsetAsync(args.words, 0, MaskWords::cleared(count) * sizeof(uint32_t), stream);
  // With class limits only the last step determines the number of kept boxes.
  const uint32_t limit = plan.rules.limits_classes() ? count : plan.limit();
  for (uint32_t first = 0; first < tiles && error == cudaSuccess; first += kStripe) {
    const uint32_t rows = tiles - first < kStripe ? tiles - first : kStripe;
    mask_tile<Geometry><<<dim3(tiles, 1, rows), kTile, 0, stream>>>(plan, args, count, first);
    error = launch_reduce(args, count, first, limit, stream);
  }
  return error == cudaSuccess ? launch_collect(plan, args, count, stream) : error;
}

}  // namespace keepbox::cuda
