// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression that compares candidates near each other in any order.
#pragma once

#include "kernels/cuda/device/boxes.cuh"

namespace keepbox::cuda {

// Common parts of the suppression kernels for large numbers of candidates.

inline constexpr uint32_t kNmsThreads = 1024;  // a warp reads one value per warp
inline constexpr uint32_t kNmsWarps = kNmsThreads / kWarp;

/// Scratch space that begins with one bit per dead candidate, followed by the number of kept boxes
/// per class if there are class limits. Both are cleared first.
struct Marks {
  uint32_t* dead;
  uint32_t* of_class;

  __host__ __device__ Marks(uint32_t* words, uint32_t count)
      : dead(words), of_class(words + warp_words(count)) {}

  __host__ __device__ static constexpr size_t words(uint32_t count) {
    return warp_words(count) + kMaxClasses;
  }
  /// Returns the offset of the space after them, aligned to eight bytes.
  __host__ __device__ static constexpr size_t words_aligned(uint32_t count) {
    return (words(count) + 1) / 2 * 2;
  }
};

__device__ inline bool is_dead(const uint32_t* dead, uint32_t i) {
  return (__ldcg(dead + i / kWarp) >> i % kWarp & 1) != 0;
}

/// True if this thread's box stays and is within its class limit; threads have boxes in order.
/// Called by a block of kNmsThreads; has its own barriers. @param classes one entry per class.
__device__ inline bool admit(uint32_t limit, bool stays, uint64_t key,
                             uint16_t (&classes)[kNmsThreads], uint32_t* of_class) {
  constexpr uint16_t kNone = 0xffff;
  const auto own = static_cast<uint16_t>(key_class(key));
  __syncthreads();
  classes[threadIdx.x] = stays ? own : kNone;
  __syncthreads();
  uint32_t before = stays ? __ldcg(of_class + own) : 0;
  for (uint32_t i = 0; i < threadIdx.x && stays; ++i) before += classes[i] == own ? 1 : 0;
  const bool admitted = stays && before < limit;
  __syncthreads();
  if (admitted) atomicAdd(of_class + own, 1u);
  return admitted;
}

/// True if the key marks a dropped candidate: its score would be NaN.
__device__ inline bool is_dropped(uint64_t key) {
  return static_cast<uint32_t>(key >> 32) == static_cast<uint32_t>(kNoKey >> 32);
}
/// Returns the key of a dropped candidate, which sorts last and stays unique.
__device__ inline uint64_t dropped_key(uint64_t key) { return key | kNoKey >> 32 << 32; }

/// Reports that `count` boxes are written. Called by one thread, after a barrier that follows the
/// last write.
__device__ inline void report_done(const LargeArgs& args, uint32_t count, uint32_t empty,
                                   State state = State::kDone) {
  args.header->state = state;
  args.header->kept = count;
  args.header->empty = empty;
  args.control->complete = empty == 0 ? count : kNotComplete;
  signal_host(args.header->sequence, args.sequence);
}

/// Number of boxes whose overlaps with one box fit into a word.
inline constexpr uint32_t kTile = 64;

/// Returns a bit per kept box of up to 64, by the words of their overlaps with each other.
__device__ inline unsigned long long resolve_tile(const unsigned long long* diagonal,
                                                  unsigned long long removed, uint32_t count) {
  unsigned long long kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (removed >> i & 1) continue;
    kept |= 1ull << i;
    removed |= diagonal[i];
  }
  return kept;
}

/// Clears the marks and the class counts.
cudaError_t clear_marks(const LargeArgs& args, uint32_t count, cudaStream_t stream);

/// Writes alive candidates to the host, in order.
cudaError_t launch_collect(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                           cudaStream_t stream);

template <class... Kernels>
cudaError_t load_kernels(Kernels... kernels) {
  cudaFuncAttributes attributes;
  cudaError_t error = cudaSuccess;
  ((error = error == cudaSuccess ? cudaFuncGetAttributes(&attributes, kernels) : error), ...);
  return error;
}

/// Loads the kernels that are independent of the geometry.
cudaError_t load_select();
cudaError_t load_methods();
cudaError_t load_sequential();

// Overlaps of ordered candidates with each other, one bit per pair.

inline constexpr uint32_t kChunk = kNmsThreads;  // candidates that a block resolves together
inline constexpr uint32_t kChunkWords = kChunk / kWarp;

/// Rows that a warp compares with the same 32 candidates.
inline constexpr uint32_t kRowsAtOnce = 8;

/// Returns the tasks of write_overlaps(): a warp's share is one at a time.
__host__ __device__ constexpr uint32_t overlap_tasks(uint32_t count) {
  return (count + kRowsAtOnce - 1) / kRowsAtOnce * warp_words(count);
}

/// Writes the bits of all pairs. Called by all warps of the grid. @param at returns a candidate by
/// its rank: key(), box(), area(), which may be called with any rank below `count`.
/// @param mask [word][candidate], `stride` candidates wide: the better candidates of a word that
/// overlap it, and not written for words after its own.
template <BoxGeometry Geometry, class Ordered>
__device__ void write_overlaps(const DevicePlan& plan, const Ordered& at, uint32_t count,
                               uint32_t* mask, uint32_t stride) {
  const uint32_t columns = warp_words(count), warps = gridDim.x * kNmsWarps;
  for (uint32_t task = blockIdx.x * kNmsWarps + warp_id(); task < overlap_tasks(count);
       task += warps) {
    const uint32_t word = task % columns, first = task / columns * kRowsAtOnce;
    if (word * kWarp > first + kRowsAtOnce - 1) continue;
    const uint32_t j = word * kWarp + lane_id(), other = min(j, count - 1);
    const uint64_t key = at.key(other);
    const auto shape = shape_of<Geometry>(plan, at.box(other), key);
    const float area = at.area(other, shape);
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) {
      const uint32_t i = first + r;
      if (i >= count) break;
      const uint64_t own = at.key(i);
      const auto row = shape_of<Geometry>(plan, at.box(i), own);
      const bool hit = (j < i) & same_class(plan.rules.contract, own, key) &
                       hits<Geometry>(plan.rules, row, at.area(i, row), shape, area);
      const uint32_t bits = __ballot_sync(kFull, hit);
      if (lane_id() == 0) mask[word * stride + i] = bits;
    }
  }
}

// Copy of the candidates, sorted by location and divided into groups of one warp with known bounds:
// a box is compared only with groups that it may overlap.

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

/// Part of an axis that is divided into bins.
struct BinnedAxis {
  float begin, per_pixel;  // the reciprocal of its length

  /// @param axis 0 or 1.
  __device__ BinnedAxis(const DevicePlan& plan, uint32_t axis)
      : begin(0), per_pixel(axis == 0 ? plan.per_pixel_x : plan.per_pixel_y) {
    if (plan.extent == nullptr) return;
    begin = -from_ascending(plan.extent->most[axis]);
    per_pixel = 1.0f / (from_ascending(plan.extent->most[axis + 2]) - begin);
  }

  /// Returns the cell of a coordinate; the outermost ones have those beyond them, and the first one
  /// has all if the length is 0 or infinite.
  __device__ uint32_t cell(float at) const {
    constexpr auto kCells = static_cast<float>(kSpatialSide);
    const float cell = (at - begin) * (per_pixel * kCells);
    return static_cast<uint32_t>(fminf(fmaxf(cell, 0.0f), kCells - 1));
  }
};

/// Returns the bin of a box's centre.
__device__ inline uint32_t spatial_bin(const DevicePlan& plan, const float4& box) {
  const uint32_t x = BinnedAxis(plan, 0).cell((box.x + box.z) * 0.5f);
  const uint32_t y = BinnedAxis(plan, 1).cell((box.y + box.w) * 0.5f);
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
