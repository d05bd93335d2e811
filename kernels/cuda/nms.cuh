// SPDX-License-Identifier: LGPL-2.1-or-later
// What the kernels of suppression have in common.
#pragma once

#include "kernels/cuda/block.cuh"
#include "kernels/cuda/overlap.cuh"

namespace keepbox::cuda {

inline constexpr uint32_t kNmsThreads = kBlockThreads;
inline constexpr uint32_t kNmsWarps = kBlockWarps;

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

/// Boxes whose overlaps with one of them fit in a word.
inline constexpr uint32_t kTile = 64;

/// Of up to 64 boxes with the words of their mask among themselves, the ones that stay.
__device__ inline unsigned long long resolve_tile(const unsigned long long* diagonal,
                                                  unsigned long long removed, uint32_t count) {
  unsigned long long kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (removed >> i & 1) continue;
    kept |= 1ull << i;
    removed |= diagonal[i];
  }
  return kept;
}

/// Marks nothing as dead.
cudaError_t clear_bits(const SlowArgs& args, uint32_t count, cudaStream_t stream);

/// Writes what is not dead to the host, in order.
cudaError_t launch_collect(const DevicePlan& plan, const SlowArgs& args, uint32_t count,
                           cudaStream_t stream);

template <class... Kernels>
cudaError_t load_kernels(Kernels... kernels) {
  cudaFuncAttributes attributes;
  cudaError_t error = cudaSuccess;
  ((error = error == cudaSuccess ? cudaFuncGetAttributes(&attributes, kernels) : error), ...);
  return error;
}

/// Parts of load_slow_path().
cudaError_t load_select();
cudaError_t load_methods();
cudaError_t load_segmented();

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
