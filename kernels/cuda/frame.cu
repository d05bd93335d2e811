// SPDX-License-Identifier: LGPL-2.1-or-later
// Launches of the frame kernel.
#include <algorithm>

#include "kernels/cuda/frame.cuh"

namespace keepbox::cuda {
namespace {

const void* kernel_for(Numbers numbers) {
  switch (numbers) {
    case Numbers::kFloat:
      return frame_of_floats();
    case Numbers::kHalf:
      return frame_of_halves();
    default:
      return frame_of_any();
  }
}

/// Allows a kernel all the shared memory that a block can have. The limit is the context's and not
/// a runner's: one that is fitted to a runner would stop the others.
cudaError_t lift_limit(const void* kernel, size_t limit, size_t* most) {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
  if (error != cudaSuccess) return error;
  *most = std::min(*most, limit - attributes.sharedSizeBytes);
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(limit - attributes.sharedSizeBytes));
}

}  // namespace

cudaError_t shape_frame(uint32_t class_ids, FrameShape* shape) {
  int device = 0, limit = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  auto most = static_cast<size_t>(limit);
  for (const Numbers numbers : {Numbers::kFloat, Numbers::kHalf, Numbers::kAny})
    if (error == cudaSuccess)
      error = lift_limit(kernel_for(numbers), static_cast<size_t>(limit), &most);
  if (error != cudaSuccess) return error;
  shape->tail_capacity = kBlockKeys;
  while (shape->tail_capacity > kWarp && tail_shared_bytes(shape->tail_capacity, class_ids) > most)
    shape->tail_capacity /= 2;
  shape->shared_bytes = tail_shared_bytes(shape->tail_capacity, class_ids);
  if (shape->shared_bytes < sizeof(Stage)) shape->shared_bytes = sizeof(Stage);
  return cudaSuccess;
}

cudaError_t launch_frame(const DevicePlan& plan, const FrameArgs& args, Numbers numbers, dim3 grid,
                         const FrameShape& shape, cudaStream_t stream) {
  void* arguments[] = {const_cast<DevicePlan*>(&plan), const_cast<FrameArgs*>(&args)};
  return cudaLaunchKernel(kernel_for(numbers), grid, dim3(kFrameThreads), arguments,
                          shape.shared_bytes, stream);
}

}  // namespace keepbox::cuda
