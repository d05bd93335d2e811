// SPDX-License-Identifier: LGPL-2.1-or-later
// Dispatch to the methods of suppression for large numbers of candidates, for one geometry.
#pragma once

#include "core/formula/rescore.h"
#include "core/model/nms_methods.h"
#include "kernels/cuda/large/greedy.cuh"
#include "kernels/cuda/large/methods.cuh"
#include "kernels/cuda/large/nms.cuh"
#include "kernels/cuda/large/one_launch.cuh"
#include "kernels/cuda/large/rest.cuh"
#include "kernels/cuda/large/segmented.cuh"
#include "kernels/cuda/large/sequential.cuh"

namespace keepbox::cuda {

// Matrix suppression without storing the matrix: each thread iterates twice over the candidates
// that are better than its own.

inline constexpr uint32_t kMatrixThreads = 128;

/// Scratch space: marks, and each candidate's maximum overlap with a better one.
struct MatrixWords {
  float* max_overlaps;

  __host__ __device__ MatrixWords(uint32_t* words, uint32_t count)
      : max_overlaps(reinterpret_cast<float*>(words + Marks::words(count))) {}

  static constexpr size_t words(uint32_t count) { return Marks::words(count) + count; }
};

/// Calls visit(i, overlap) for the candidates before j of the same class.
template <BoxGeometry Geometry, class Visit>
__device__ void each_better(const DevicePlan& plan, const LargeArgs& args, uint32_t j,
                            Visit visit) {
  const uint64_t key = args.ordered.keys[j];
  const auto shape = shape_of<Geometry>(plan, args.ordered.boxes[j], key);
  const float area = area_of<Geometry>(plan, shape);
  for (uint32_t i = 0; i < j; ++i) {
    const uint64_t better = args.ordered.keys[i];
    if (!same_class(plan.rules.contract, better, key)) continue;
    const auto other = shape_of<Geometry>(plan, args.ordered.boxes[i], better);
    visit(i, overlap_of<Geometry>(plan.rules, other, area_of<Geometry>(plan, other), shape, area));
  }
}

template <BoxGeometry Geometry>
__global__ void __launch_bounds__(kMatrixThreads)
    max_overlap(const __grid_constant__ DevicePlan plan, const __grid_constant__ LargeArgs args,
                uint32_t count) {
  const uint32_t j = blockIdx.x * kMatrixThreads + threadIdx.x;
  if (j >= count) return;
  float max_overlaps = 0;
  each_better<Geometry>(plan, args, j, [&](uint32_t, float overlap) {
    max_overlaps = larger(max_overlaps, overlap);
  });
  MatrixWords(args.words, count).max_overlaps[j] = max_overlaps;
}

/// Writes the candidates with their new scores to their positions before sorting.
template <BoxGeometry Geometry>
__global__ void __launch_bounds__(kMatrixThreads)
    decay(const __grid_constant__ DevicePlan plan, const __grid_constant__ LargeArgs args,
          uint32_t count) {
  const uint32_t j = blockIdx.x * kMatrixThreads + threadIdx.x;
  if (j >= count) return;
  const float* const max_overlaps = MatrixWords(args.words, count).max_overlaps;
  Decay worst(plan.rules);
  each_better<Geometry>(plan, args, j, [&](uint32_t i, float overlap) {
    worst.add(plan.rules, overlap, max_overlaps[i]);
  });
  const uint64_t before = args.ordered.keys[j];
  const uint64_t key = with_score(before, worst.of(plan.rules, key_score(before)));
  args.candidates.keys[j] = still_passes(plan.rules, plan.tables, key) ? key : dropped_key(key);
  args.candidates.boxes[j] = args.ordered.boxes[j];
}

template <BoxGeometry Geometry>
cudaError_t launch_matrix(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                          cudaStream_t stream) {
  cudaError_t error = clear_marks(args, count, stream);
  if (error != cudaSuccess) return error;
  if (count != 0) {
    const uint32_t blocks = (count + kMatrixThreads - 1) / kMatrixThreads;
    max_overlap<Geometry><<<blocks, kMatrixThreads, 0, stream>>>(plan, args, count);
    decay<Geometry><<<blocks, kMatrixThreads, 0, stream>>>(plan, args, count);
    error = launch_sort({.best_high = plan.best_high,
                         .octaves = plan.octaves,
                         .from = args.candidates,
                         .count = count,
                         .to = args.ordered,
                         .limit = count,
                         .runs = args.runs,
                         .run_index = args.run_index},
                        stream);
  }
  return error == cudaSuccess ? launch_collect(plan, args, count, stream) : error;
}

/// Implements Kernels::nms.
template <BoxGeometry Geometry>
cudaError_t launch_nms(const DevicePlan& plan, const LargeArgs& args, uint32_t blocks,
                       cudaStream_t stream) {
  const uint32_t limit = plan.rules.pre_nms_top_k, count = args.count < limit ? args.count : limit;
  cudaError_t error = cudaSuccess;
  if (needs_sequential_nms(plan.rules))
    return launch_sequential<Geometry>(plan, args, count, stream);
  switch (plan.rules.method) {
    case NmsMethod::kBitmask: return launch_bitmask<Geometry>(plan, args, count, stream);
    case NmsMethod::kSegmented: return launch_segmented<Geometry>(plan, args, count, stream);
    case NmsMethod::kFast: return launch_fast<Geometry>(plan, args, count, stream);
    case NmsMethod::kSoftLinear:
    case NmsMethod::kSoftGaussian: return launch_soft<Geometry>(plan, args, count, stream);
    case NmsMethod::kWeighted:
    case NmsMethod::kDiou:
    case NmsMethod::kMerge: return launch_sequential<Geometry>(plan, args, count, stream);
    case NmsMethod::kMatrix:
    case NmsMethod::kMatrixLinear: return launch_matrix<Geometry>(plan, args, count, stream);
    case NmsMethod::kNone:
      error = clear_marks(args, count, stream);
      return error == cudaSuccess ? launch_collect(plan, args, count, stream) : error;
    case NmsMethod::kAuto:
    case NmsMethod::kGreedy: break;
  }
  return launch_greedy<Geometry>(plan, args, count, blocks, stream);
}

/// Implements Kernels::load.
template <BoxGeometry Geometry>
cudaError_t load_large_nms(uint32_t* blocks) {
  int device = 0, processors = 0, each = 0, cooperates = 0;  // cooperative launches
  const auto attribute = [&](int* value, cudaDeviceAttr which) {
    return cudaDeviceGetAttribute(value, which, device);
  };
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = attribute(&cooperates, cudaDevAttrCooperativeLaunch);
  if (error == cudaSuccess) error = attribute(&processors, cudaDevAttrMultiProcessorCount);
  if (error == cudaSuccess)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, greedy<Geometry>, kNmsThreads, 0);
  *blocks = static_cast<uint32_t>(processors * (each > 0 && cooperates != 0 ? 1 : 0));
  if (error == cudaSuccess)
    error = load_kernels(one_launch_nms<Geometry>, greedy<Geometry>, suppress_once<Geometry>,
                         mask_tile<Geometry>, find_segments<Geometry>, suppress_segment<Geometry>,
                         rest<Geometry>, sequential_nms<Geometry>, soften<Geometry>,
                         merge_kept<Geometry>, max_overlap<Geometry>, decay<Geometry>);
  for (cudaError_t (*load)() : {load_select, load_methods, load_sequential})
    if (error == cudaSuccess) error = load();
  return error;
}

}  // namespace keepbox::cuda
