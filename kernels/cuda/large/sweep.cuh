// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression of candidates by kept boxes near them.
#pragma once

#include "kernels/cuda/large/spatial_bins.cuh"

namespace keepbox::cuda {

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

}  // namespace keepbox::cuda
