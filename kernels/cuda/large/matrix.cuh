// SPDX-License-Identifier: LGPL-2.1-or-later
// Matrix suppression without storing the matrix: each thread iterates twice over the candidates
// that are better than its own.
#pragma once

#include "core/formula/rescore.h"
#include "kernels/cuda/large/nms.cuh"

namespace keepbox::cuda {

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

}  // namespace keepbox::cuda
