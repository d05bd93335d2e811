// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels for upright boxes.
#include "kernels/cuda/frame/frame.cuh"
#include "kernels/cuda/large/large_nms.cuh"

namespace keepbox::cuda {
namespace {

cudaError_t launch(const DevicePlan& plan, const FrameArgs& args, const SegmentTable& segments,
                   LoadKind load_kind, dim3 grid, cudaStream_t stream) {
  const void* const kernels[kLoadKinds] = {frame_of_floats(), frame_of_halves(), frame_of_bytes(),
                                           frame_of_any()};
  if (plan.scan == Scan::kSegments)
    return launch_frame(
        load_kind == LoadKind::kFloat ? frame_of_float_segments() : frame_of_any_segments(), plan,
        args, segments, grid, stream);
  return launch_frame(kernels[static_cast<size_t>(load_kind)], plan, args, segments, grid, stream);
}

}  // namespace

template <>
const Kernels& kernels_of<Upright>() {
  static constexpr Kernels kKernels{launch, launch_one_launch_nms<Upright>, launch_nms<Upright>,
                                    launch_rest<Upright>, load_large_nms<Upright>};
  return kKernels;
}

}  // namespace keepbox::cuda
