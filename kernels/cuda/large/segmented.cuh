// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression by class: sorts by class, finds the segment of each class, resolves segments in
// parallel.
#pragma once

#include "kernels/cuda/large/nms.cuh"

namespace keepbox::cuda {

inline constexpr uint32_t kSegmentThreads = 256;
inline constexpr uint32_t kNoSegment = ~0u;

/// Scratch space of the segmented method, after the marks.
struct Segments {
  uint32_t* start;   // per class, in the candidates by class; ~0: none
  uint32_t* origin;  // indices in `ordered`

  __device__ __host__ Segments(uint32_t* words, uint32_t count)
      : start(words + Marks::words(count)), origin(start + kMaxClasses) {}

  static constexpr size_t words(uint32_t count) {
    return Marks::words(count) + kMaxClasses + count;
  }
};

__device__ inline uint32_t segment_of(const DevicePlan& plan, uint64_t key) {
  return plan.rules.contract.class_agnostic ? 0 : key_class(key);
}

/// Segment of a block's class.
template <BoxGeometry Geometry>
struct Segment {
  const DevicePlan& plan;
  const LargeArgs& args;
  Segments scratch;
  uint32_t count;  // number of all candidates

  __device__ bool holds(uint32_t i) const {
    return i < count && segment_of(plan, args.candidates.keys[i]) == blockIdx.x;
  }
  __device__ bool overlap(uint32_t i, uint32_t j) const {
    return cuda::overlap<Geometry>(plan, args.candidates, i, j);
  }
  __device__ void mark_dead(uint32_t i) const {
    atomicOr(args.words + scratch.origin[i] / kWarp, 1u << scratch.origin[i] % kWarp);
  }
  __device__ bool is_dead(uint32_t i) const { return cuda::is_dead(args.words, scratch.origin[i]); }
};

struct TileWords {
  unsigned long long overlaps[kTile];  // per box: the later boxes of the tile that overlap it
  uint32_t removed[kTile / kWarp];
  unsigned long long kept;
};

/// Resolves the 64 boxes from `first` among themselves. @return the kept ones, one bit each.
template <BoxGeometry Geometry>
__device__ unsigned long long resolve(const Segment<Geometry>& segment, TileWords& tile,
                                      uint32_t first) {
  if (threadIdx.x < kTile) tile.overlaps[threadIdx.x] = 0;
  __syncthreads();
  for (uint32_t pair = threadIdx.x; pair < kTile * kTile; pair += kSegmentThreads) {
    const uint32_t row = pair / kTile, i = first + row, j = first + pair % kTile;
    if (i < j && segment.holds(j) && segment.overlap(i, j))
      atomicOr(&tile.overlaps[row], 1ull << (j - first));
  }
  const uint32_t own = first + threadIdx.x;
  const bool gone = threadIdx.x >= kTile || !segment.holds(own) || segment.is_dead(own);
  const uint32_t bits = __ballot_sync(kFull, gone);
  if (threadIdx.x < kTile && threadIdx.x % kWarp == 0) tile.removed[threadIdx.x / kWarp] = bits;
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned long long upper = tile.removed[1];
    tile.kept = resolve_tile(tile.overlaps, upper << kWarp | tile.removed[0], kTile);
  }
  __syncthreads();
  if (!gone && (tile.kept >> threadIdx.x & 1) == 0) segment.mark_dead(own);
  return tile.kept;
}

/// Suppresses one class's segment in a block: tile by tile, first within the tile, then the rest of
/// the segment by the tile's kept boxes.
template <BoxGeometry Geometry>
__global__ void __launch_bounds__(kSegmentThreads)
    suppress_segment(const __grid_constant__ DevicePlan plan,
                     const __grid_constant__ LargeArgs args, uint32_t count) {
  __shared__ TileWords tile;
  const Segment<Geometry> segment{plan, args, Segments(args.words, count), count};
  const uint32_t begin = segment.scratch.start[blockIdx.x];
  if (begin == kNoSegment) return;
  for (uint32_t first = begin; segment.holds(first); first += kTile) {
    const unsigned long long kept = resolve(segment, tile, first);
    for (uint32_t j = first + kTile + threadIdx.x; segment.holds(j); j += kSegmentThreads)
      for (unsigned long long rest = kept; rest != 0; rest &= rest - 1)
        if (segment.overlap(first + __ffsll(static_cast<long long>(rest)) - 1, j)) {
          segment.mark_dead(j);
          break;
        }
    __syncthreads();
  }
}

/// Finds the first candidate of each segment. A template only because it is in a header.
template <BoxGeometry Geometry>
__global__ void find_segments(const __grid_constant__ DevicePlan plan,
                              const __grid_constant__ LargeArgs args, uint32_t count) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const uint32_t segment = segment_of(plan, args.candidates.keys[i]);
  if (i == 0 || segment_of(plan, args.candidates.keys[i - 1]) != segment)
    Segments(args.words, count).start[segment] = i;
}

/// Sorts candidates by class and finds the segments.
template <BoxGeometry Geometry>
cudaError_t launch_segments(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                            cudaStream_t stream) {
  const Segments segments(args.words, count);
  cudaError_t error = clear_marks(args, count, stream);
  if (error == cudaSuccess)
    error = cudaMemsetAsync(segments.start, 0xff, kMaxClasses * sizeof(uint32_t), stream);
  if (error == cudaSuccess)
    error = launch_sort({.best_high = plan.best_high,
                         .octaves = plan.octaves,
                         .from = args.ordered,
                         .count = count,
                         .to = args.candidates,
                         .limit = count,
                         .origin = segments.origin,
                         .runs = args.runs,
                         .run_index = args.run_index,
                         .by_class = !plan.rules.contract.class_agnostic},
                        stream);
  if (error != cudaSuccess || count == 0) return error;
  constexpr uint32_t kThreads = 256;
  find_segments<Geometry>
      <<<(count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(plan, args, count);
  return cudaGetLastError();
}

template <BoxGeometry Geometry>
cudaError_t launch_segmented(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                             cudaStream_t stream) {
  const cudaError_t error = launch_segments<Geometry>(plan, args, count, stream);
  if (error != cudaSuccess) return error;
  const uint32_t ids = plan.rules.contract.class_agnostic ? 1 : plan.rules.class_ids;
  if (count != 0)
    suppress_segment<Geometry><<<ids, kSegmentThreads, 0, stream>>>(plan, args, count);
  return launch_collect(plan, args, count, stream);
}

}  // namespace keepbox::cuda
