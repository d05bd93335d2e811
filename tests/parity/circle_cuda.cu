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
         Numbers numbers, dim3 grid, cudaStream_t stream) {
        if (numbers != Numbers::kFloat) return cudaErrorInvalidValue;
        const void* const kernel = plan.scan == Scan::kSegments
                                       ? frame_kernel<InSegments<PlainLoad>, Circle>()
                                       : frame_kernel<PlainLoad, Circle>();
        return launch_frame(kernel, plan, args, segments, grid, stream);
      },
      launch_crowd<Circle>, launch_nms<Circle>, load_crowds<Circle>};
  return kKernels;
}

}  // namespace keepbox::cuda
