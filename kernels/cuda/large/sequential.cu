// SPDX-License-Identifier: LGPL-2.1-or-later
// Output of boxes kept by sequential.cuh.
#include "kernels/cuda/large/sequential.cuh"

namespace keepbox::cuda {
namespace {

/// Writes the kept boxes. Runs in one block.
__global__ void __launch_bounds__(kNmsThreads)
    write_kept(const __grid_constant__ DevicePlan plan, const __grid_constant__ LargeArgs args,
               uint32_t count) {
  __shared__ EmitShared<kNmsThreads> shared;
  const uint32_t total = *SequentialWords(args.words, count).kept;
  uint32_t clipped = 0;
  for (uint32_t base = 0; base < total; base += kNmsThreads) {
    const uint32_t i = min(base + threadIdx.x, total - 1);
    emit(plan, shared, base + threadIdx.x < total, args.kept.keys[i], args.kept.boxes[i],
         args.out.from(base), clipped);
  }
  if (threadIdx.x == 0) report_done(args, total, clipped);
}

}  // namespace

cudaError_t launch_write_kept(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                              cudaStream_t stream) {
  write_kept<<<1, kNmsThreads, 0, stream>>>(plan, args, count);
  return cudaGetLastError();
}

cudaError_t load_sequential() { return load_kernels(write_kept); }

}  // namespace keepbox::cuda
