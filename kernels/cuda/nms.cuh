// SPDX-License-Identifier: LGPL-2.1-or-later
// What the kernels of suppression have in common.
#pragma once

#include "kernels/cuda/source.cuh"

namespace keepbox::cuda {

inline constexpr uint32_t kNmsThreads = 1024;
inline constexpr uint32_t kNmsWarps = kNmsThreads / kWarp;
static_assert(kNmsWarps == kWarp, "a warp reads a number of each warp");

__device__ inline Box to_box(const float4& b) { return {b.x, b.y, b.z, b.w}; }

__device__ inline bool same_class(const NmsContract& contract, uint64_t a, uint64_t b) {
  return contract.class_agnostic || key_class(a) == key_class(b);
}

/// The sum of `value` over the threads before this one, and over all.
__device__ inline uint32_t sum_before(uint32_t value, uint32_t (&sums)[kNmsWarps], uint32_t& all) {
  const uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  uint32_t upto = value;
  for (uint32_t step = 1; step < kWarp; step *= 2) {
    const uint32_t other = __shfl_up_sync(kFull, upto, step);
    if (lane >= step) upto += other;
  }
  __syncthreads();
  if (lane == kWarp - 1) sums[warp] = upto;
  __syncthreads();
  uint32_t warps = sums[lane];
  for (uint32_t step = 1; step < kWarp; step *= 2) {
    const uint32_t other = __shfl_up_sync(kFull, warps, step);
    if (lane >= step) warps += other;
  }
  all = __shfl_sync(kFull, warps, kWarp - 1);
  const uint32_t before = __shfl_sync(kFull, warps, (warp + kWarp - 1) % kWarp);
  return upto - value + (warp == 0 ? 0 : before);
}

/// Words of one bit a candidate.
constexpr uint32_t bit_words(uint32_t count) { return (count + kWarp - 1) / kWarp; }

/// Writes boxes to the host and says that they are there. By one block.
__device__ inline void write_out(const SlowArgs& args, const Boxes& from, uint32_t count) {
  for (uint32_t word = threadIdx.x; word < count * 3; word += blockDim.x) {
    const uint32_t r = word / 3, part = word % 3;
    const auto* box = reinterpret_cast<const uint64_t*>(from.boxes + r);
    args.out[word] = part == 0 ? __ldcg(from.keys + r) : __ldcg(box + part - 1);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  args.header->state = State::kDone;
  args.header->kept = count;
  __threadfence_system();
  *static_cast<volatile uint32_t*>(&args.header->sequence) = args.sequence;
}

/// The launches of the methods of literature, by `args` as launch_nms() has them; what is dead is a
/// bit each in args.words.
cudaError_t launch_bitmask(const DevicePlan& plan, const SlowArgs& args, uint32_t count,
                           cudaStream_t stream);
cudaError_t launch_segmented(const DevicePlan& plan, const SlowArgs& args, uint32_t count,
                             cudaStream_t stream);
cudaError_t launch_fast(const DevicePlan& plan, const SlowArgs& args, uint32_t count,
                        cudaStream_t stream);
size_t bitmask_words(uint32_t count);
size_t segmented_words(uint32_t count);

}  // namespace keepbox::cuda
