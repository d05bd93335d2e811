// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels for oriented boxes with overlap as normal distributions.
#include "core/formula/oriented.h"
#include "kernels/cuda/frame/frame.cuh"
#include "kernels/cuda/large/large_nms.cuh"

namespace keepbox::cuda {
namespace {

cudaError_t launch(const DevicePlan& plan, const FrameArgs& args, const SegmentTable& segments,
                   LoadKind load_kind, dim3 grid, cudaStream_t stream) {
  const void* const kernel = load_kind == LoadKind::kFloat
                                 ? frame_kernel<InSegments<FloatLoad>, OrientedGaussian>()
                                 : frame_kernel<InSegments<AnyLoad>, OrientedGaussian>();
  return launch_frame(kernel, plan, args, segments, grid, stream);
}

}  // namespace

template <>
const Kernels& kernels_of<OrientedGaussian>() {
  static constexpr Kernels kKernels{launch, launch_one_launch_nms<OrientedGaussian>,
                                    launch_nms<OrientedGaussian>, load_large_nms<OrientedGaussian>};
  return kKernels;
}

}  // namespace keepbox::cuda
