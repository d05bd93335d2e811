// SPDX-License-Identifier: LGPL-2.1-or-later
// Dispatch to the methods of suppression for large numbers of candidates, for one geometry.
#pragma once

#include "kernels/cuda/large/greedy.cuh"
#include "kernels/cuda/large/matrix.cuh"
#include "kernels/cuda/large/methods.cuh"
#include "kernels/cuda/large/one_launch.cuh"
#include "kernels/cuda/large/rest.cuh"
#include "kernels/cuda/large/segmented.cuh"
#include "kernels/cuda/large/sequential.cuh"

namespace keepbox::cuda {

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
