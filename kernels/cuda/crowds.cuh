// SPDX-License-Identifier: LGPL-2.1-or-later
// The choice among the methods of suppression, for crowds of one geometry.
#pragma once

#include "kernels/cuda/greedy.cuh"
#include "kernels/cuda/methods.cuh"
#include "kernels/cuda/segmented.cuh"

namespace keepbox::cuda {

/// As Kernels::nms.
template <class Geometry>
cudaError_t launch_nms(const DevicePlan& plan, const SlowArgs& args, uint32_t blocks,
                       cudaStream_t stream) {
  const uint32_t most = plan.rules.pre_nms_top_k, count = args.count < most ? args.count : most;
  cudaError_t error = cudaSuccess;
  switch (plan.rules.method) {
    case NmsMethod::kBitmask:
      return launch_bitmask<Geometry>(plan, args, count, stream);
    case NmsMethod::kSegmented:
      return launch_segmented<Geometry>(plan, args, count, stream);
    case NmsMethod::kFast:
      return launch_fast<Geometry>(plan, args, count, stream);
    case NmsMethod::kNone:
      error = clear_marks(args, count, stream);
      return error == cudaSuccess ? launch_collect(plan, args, count, stream) : error;
    default:
      return launch_greedy<Geometry>(plan, args, count, blocks, stream);
  }
}

/// As Kernels::load.
template <class Geometry>
cudaError_t load_crowds(uint32_t* blocks) {
  int device = 0, processors = 0, each = 0, cooperates = 0;  // with itself
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
    error = load_kernels(greedy<Geometry>, strike_once<Geometry>, mask_tile<Geometry>,
                         thin_segment<Geometry>);
  for (cudaError_t (*load)() : {load_select, load_methods})
    if (error == cudaSuccess) error = load();
  return error;
}

}  // namespace keepbox::cuda
