// SPDX-License-Identifier: LGPL-2.1-or-later
// Copy of the candidates, sorted by location and divided into groups of one warp with known bounds:
// a box is compared only with groups that it may overlap.
#pragma once

#include "kernels/cuda/large/nms.cuh"

namespace keepbox::cuda {

/// Bins of candidates: cells of a grid over the model input.
inline constexpr uint32_t kSpatialSide = 32, kSpatialBins = kSpatialSide * kSpatialSide;
static_assert(kSpatialBins == kNmsThreads, "one thread per bin");

/// The copy, in memory that is free after the sort.
struct SpatialBins {
  uint32_t* counts;        // by bin
  uint32_t* offsets;       // by rank: position in its bin
  uint64_t* rank_and_key;  // by position: rank and the lower half of the key, packed
  float4* boxes;           // by position
  float4* bounds;          // by group: bounding box of its boxes

  __device__ uint32_t rank(uint32_t place) const {
    return static_cast<uint32_t>(__ldcg(rank_and_key + place) >> 32);
  }
};

__device__ inline SpatialBins spatial_bins_in(const LargeArgs& args, uint32_t* words,
                                              uint32_t* bounds) {
  return {words, args.run_index, args.candidates.keys, args.candidates.boxes,
          reinterpret_cast<float4*>(bounds)};
}

/// Returns the bin of a box's centre.
__device__ inline uint32_t spatial_bin(const DevicePlan& plan, const float4& box) {
  const auto cell = [](float at, float per_pixel) {
    constexpr auto kCells = static_cast<float>(kSpatialSide);
    return static_cast<uint32_t>(fminf(fmaxf(at * (per_pixel * kCells), 0.0f), kCells - 1));
  };
  const uint32_t x = cell((box.x + box.z) * 0.5f, plan.per_pixel_x);
  const uint32_t y = cell((box.y + box.w) * 0.5f, plan.per_pixel_y);
  // Rows run in alternating directions, so that adjacent bins in memory are adjacent cells.
  return y * kSpatialSide + (y % 2 == 0 ? x : kSpatialSide - 1 - x);
}

/// Counts candidates per bin: step 1, by all threads. @pre counts are 0.
__device__ inline void count_spatial_bins(const DevicePlan& plan, const LargeArgs& args,
                                          const SpatialBins& spatial, uint32_t count) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    spatial.offsets[i] = atomicAdd(spatial.counts + spatial_bin(plan, args.ordered.boxes[i]), 1);
}

/// Copies the candidates: step 2, after a barrier, by `blocks` blocks. @param starts shared memory.
__device__ inline void fill_spatial_bins(const DevicePlan& plan, const LargeArgs& args,
                                         const SpatialBins& spatial, uint32_t count, uint32_t block,
                                         uint32_t blocks, uint32_t (&starts)[kSpatialBins],
                                         uint32_t (&sums)[kNmsWarps]) {
  uint32_t all = 0;
  starts[threadIdx.x] = sum_before(__ldcg(spatial.counts + threadIdx.x), sums, all);
  __syncthreads();
  for (uint32_t i = block * blockDim.x + threadIdx.x; i < count; i += blocks * blockDim.x) {
    const float4 box = args.ordered.boxes[i];
    const uint32_t place = starts[spatial_bin(plan, box)] + __ldcg(spatial.offsets + i);
    spatial.rank_and_key[place] =
        static_cast<uint64_t>(i) << 32 | static_cast<uint32_t>(args.ordered.keys[i]);
    spatial.boxes[place] = box;
  }
}

/// Computes the bounds of a group from those candidates whose lanes are `counted`; without any they
/// touch nothing.
template <BoxGeometry Geometry>
__device__ void bound_group(const DevicePlan& plan, const SpatialBins& spatial, uint32_t group,
                            uint32_t place, bool counted) {
  const uint64_t rank_and_key = __ldcg(spatial.rank_and_key + place);
  const auto shape = shape_of<Geometry>(plan, __ldcg(spatial.boxes + place), rank_and_key);
  const Box box = Geometry::bounds(shape, plan.rules);
  float4 out{INFINITY, INFINITY, -INFINITY, -INFINITY};
  if (counted) out = {box.x1, box.y1, box.x2, box.y2};
#pragma unroll
  for (uint32_t step = 1; step < kWarp; step *= 2) {
    out.x = fminf(out.x, __shfl_xor_sync(kFull, out.x, step));
    out.y = fminf(out.y, __shfl_xor_sync(kFull, out.y, step));
    out.z = fmaxf(out.z, __shfl_xor_sync(kFull, out.z, step));
    out.w = fmaxf(out.w, __shfl_xor_sync(kFull, out.w, step));
  }
  if (lane_id() == 0) spatial.bounds[group] = out;
}

/// Computes the bounds of groups: step 3, after a barrier, by all warps.
template <BoxGeometry Geometry>
__device__ void bound_spatial_bins(const DevicePlan& plan, const SpatialBins& spatial,
                                   uint32_t count) {
  const uint32_t warps = gridDim.x * blockDim.x / kWarp;
  for (uint32_t group = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp; group < warp_words(count);
       group += warps)
    bound_group<Geometry>(plan, spatial, group, min(group * kWarp + lane_id(), count - 1), true);
}

}  // namespace keepbox::cuda
