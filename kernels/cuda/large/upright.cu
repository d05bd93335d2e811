// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels for upright boxes.
#include <algorithm>

#include "kernels/cuda/frame/frame.cuh"
#include "kernels/cuda/large/large_nms.cuh"

namespace keepbox::cuda {
namespace {

cudaError_t launch(const DevicePlan& plan, const FrameArgs& args, const SegmentTable& segments,
                   Numbers numbers, dim3 grid, cudaStream_t stream) {
  const void* const kernels[kNumbers] = {frame_of_floats(), frame_of_halves(), frame_of_bytes(),
                                         frame_of_any()};
  if (plan.scan == Scan::kSegments)
    return launch_frame(
        numbers == Numbers::kFloat ? frame_of_float_segments() : frame_of_any_segments(), plan,
        args, segments, grid, stream);
  return launch_frame(kernels[static_cast<size_t>(numbers)], plan, args, segments, grid, stream);
}

}  // namespace

template <>
const Kernels& kernels_of<Upright>() {
  static constexpr Kernels kKernels{launch, launch_crowd<Upright>, launch_nms<Upright>,
                                    load_crowds<Upright>};
  return kKernels;
}

size_t slow_words(NmsMethod method, uint32_t count) {
  switch (method) {
    case NmsMethod::kNone: return Marks::words(count);
    case NmsMethod::kFast: return std::max(Marks::words(count), crowd_words(count));
    case NmsMethod::kBitmask: return MaskWords::words(count);
    case NmsMethod::kSegmented: return Segments::words(count);
    case NmsMethod::kSoftLinear:
    case NmsMethod::kSoftGaussian:
    case NmsMethod::kWeighted:
    case NmsMethod::kDiou:
    case NmsMethod::kMerge: return WalkWords::words(count);
    case NmsMethod::kMatrix:
    case NmsMethod::kMatrixLinear: return MatrixWords::words(count);
    default:  // others use a mask
      return std::max({GreedyWords::words(count), MaskWords::words(count), crowd_words(count)});
  }
}

}  // namespace keepbox::cuda
