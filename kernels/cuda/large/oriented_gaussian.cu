// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels for oriented boxes with overlap as normal distributions.
#include "core/formula/oriented.h"
#include "kernels/cuda/frame/frame.cuh"
#include "kernels/cuda/large/large_nms.cuh"

namespace keepbox::cuda {
namespace {

cudaError_t launch(const DevicePlan& plan, const FrameArgs& args, const SegmentTable& segments,
                   Numbers numbers, dim3 grid, cudaStream_t stream) {
  const void* const kernel = numbers == Numbers::kFloat
                                 ? frame_kernel<InSegments<PlainLoad>, OrientedGaussian>()
                                 : frame_kernel<InSegments<AnyLoad>, OrientedGaussian>();
  return launch_frame(kernel, plan, args, segments, grid, stream);
}

}  // namespace

template <>
const Kernels& kernels_of<OrientedGaussian>() {
  static constexpr Kernels kKernels{launch, launch_crowd<OrientedGaussian>,
                                    launch_nms<OrientedGaussian>, load_crowds<OrientedGaussian>};
  return kKernels;
}

}  // namespace keepbox::cuda
