// SPDX-License-Identifier: LGPL-2.1-or-later
// Values and keypoints of kept boxes, with one thread per value or point.
#include <algorithm>

#include "core/formula/keypoint.h"
#include "kernels/cuda/payload/payload_reader.cuh"

namespace keepbox::cuda {
namespace {

/// Launched with the images in the second dimension. @tparam kKeypoints true for keypoints.
template <bool kKeypoints>
__global__ void __launch_bounds__(kPayloadThreads)
    payload_values(const __grid_constant__ DevicePlan plan,
                   const __grid_constant__ ValueArgs args) {
  const uint32_t image = blockIdx.y, each = kKeypoints ? args.keypoints.count : args.each;
  const Detection* const boxes = boxes_of(args.kept, image);
  float* const values = args.values + size_t{image} * args.kept.stride * args.each;
  const uint32_t found = count_of(args.kept, image);
  const uint32_t all = found == kNotComplete ? 0 : found * each;
  for (uint32_t i = blockIdx.x * kPayloadThreads + threadIdx.x; i < all;
       i += gridDim.x * kPayloadThreads) {
    const uint32_t anchor = boxes[i / each].anchor;
    const PayloadReader from(plan, args.segments, segment_of(args.segments, anchor), image);
    if constexpr (kKeypoints)
      reinterpret_cast<Keypoint*>(values)[i] =
          on_frame(letterbox_of(plan), model_point(from, args.keypoints, anchor, i % each),
                   args.keypoints.clipped);
    else values[i] = from.get(FieldId::kPayload, anchor, i % each);
  }
  report_end(args.report);
}

/// Maximum blocks per image; each thread has several values if there are more.
constexpr uint32_t kMaxValueBlocks = 256;

}  // namespace

cudaError_t launch_values(const DevicePlan& plan, const ValueArgs& args, uint32_t images,
                          uint32_t expected, cudaStream_t stream) {
  const bool keypoints = args.moves == Moves::kAsPoints;
  const size_t values = size_t{expected} * (keypoints ? args.keypoints.count : args.each);
  const dim3 grid(std::clamp(blocks_for(values, kPayloadThreads), 1u, kMaxValueBlocks), images);
  if (keypoints) payload_values<true><<<grid, kPayloadThreads, 0, stream>>>(plan, args);
  else payload_values<false><<<grid, kPayloadThreads, 0, stream>>>(plan, args);
  return cudaGetLastError();
}

}  // namespace keepbox::cuda
