// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels of the CUDA backend for circles, for float32 tensors.
#include "tests/parity/circle_cuda.h"

#include "kernels/cuda/frame/frame.cuh"
#include "kernels/cuda/large/large_nms.cuh"
#include "tests/parity/circle.h"

namespace keepbox::cuda {

const Kernels& circle_kernels() {
  using test::Circle;
  static constexpr Kernels kKernels{
      [](const DevicePlan& plan, const FrameArgs& args, const SegmentTable& segments,
         LoadKind load_kind, dim3 grid, cudaStream_t stream) {
        if (load_kind != LoadKind::kFloat) return cudaErrorInvalidValue;
        const void* const kernel = plan.scan == Scan::kSegments
                                       ? frame_kernel<InSegments<FloatLoad>, Circle>()
                                       : frame_kernel<FloatLoad, Circle>();
        return launch_frame(kernel, plan, args, segments, grid, stream);
      },
      launch_one_launch_nms<Circle>, launch_nms<Circle>, launch_rest<Circle>,
      load_large_nms<Circle>};
  return kKernels;
}

}  // namespace keepbox::cuda
