// SPDX-License-Identifier: LGPL-2.1-or-later
// Common parts of the suppression kernels for large numbers of candidates.
#pragma once

#include "kernels/cuda/device/emit.cuh"

namespace keepbox::cuda {

inline constexpr uint32_t kNmsThreads = 1024;  // a warp reads one value per warp
inline constexpr uint32_t kNmsWarps = kNmsThreads / kWarp;

/// Scratch space that begins with one bit per dead candidate, followed by the number of kept boxes
/// per class if there are class limits. Both are cleared first.
struct Marks {
  uint32_t* dead;
  uint32_t* of_class;

  __host__ __device__ Marks(uint32_t* words, uint32_t count)
      : dead(words), of_class(words + warp_words(count)) {}

  __host__ __device__ static constexpr size_t words(uint32_t count) {
    return warp_words(count) + kMaxClasses;
  }
  /// Returns the offset of the space after them, aligned to eight bytes.
  __host__ __device__ static constexpr size_t words_aligned(uint32_t count) {
    return (words(count) + 1) / 2 * 2;
  }
};

__device__ inline bool is_dead(const uint32_t* dead, uint32_t i) {
  return (__ldcg(dead + i / kWarp) >> i % kWarp & 1) != 0;
}

/// True if this thread's box stays and is within its class limit; threads have boxes in order.
/// Called by a block of kNmsThreads; has its own barriers. @param classes one entry per class.
__device__ inline bool admit(uint32_t limit, bool stays, uint64_t key,
                             uint16_t (&classes)[kNmsThreads], uint32_t* of_class) {
  constexpr uint16_t kNone = 0xffff;
  const auto own = static_cast<uint16_t>(key_class(key));
  __syncthreads();
  classes[threadIdx.x] = stays ? own : kNone;
  __syncthreads();
  uint32_t before = stays ? __ldcg(of_class + own) : 0;
  for (uint32_t i = 0; i < threadIdx.x && stays; ++i) before += classes[i] == own ? 1 : 0;
  const bool admitted = stays && before < limit;
  __syncthreads();
  if (admitted) atomicAdd(of_class + own, 1u);
  return admitted;
}

/// True if the key marks a dropped candidate: its score would be NaN.
__device__ inline bool is_dropped(uint64_t key) {
  return static_cast<uint32_t>(key >> 32) == static_cast<uint32_t>(kNoKey >> 32);
}
/// Returns the key of a dropped candidate, which sorts last and stays unique.
__device__ inline uint64_t dropped_key(uint64_t key) { return key | kNoKey >> 32 << 32; }

/// Reports that `count` boxes are written. Called by one thread, after a barrier that follows the
/// last write.
__device__ inline void report_done(const LargeArgs& args, uint32_t count, uint32_t empty,
                                   State state = State::kDone) {
  args.header->state = state;
  args.header->kept = count;
  args.header->empty = empty;
  args.control->complete = empty == 0 ? count : kNotComplete;
  signal_host(args.header->sequence, args.sequence);
}

/// Number of boxes whose overlaps with one box fit into a word.
inline constexpr uint32_t kTile = 64;

/// Returns a bit per kept box of up to 64, by the words of their overlaps with each other.
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

/// Clears the marks and the class counts.
cudaError_t clear_marks(const LargeArgs& args, uint32_t count, cudaStream_t stream);

/// Writes alive candidates to the host, in order.
cudaError_t launch_collect(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                           cudaStream_t stream);

template <class... Kernels>
cudaError_t load_kernels(Kernels... kernels) {
  cudaFuncAttributes attributes;
  cudaError_t error = cudaSuccess;
  ((error = error == cudaSuccess ? cudaFuncGetAttributes(&attributes, kernels) : error), ...);
  return error;
}

/// Loads the kernels that are independent of the geometry.
cudaError_t load_select();
cudaError_t load_methods();
cudaError_t load_sequential();

}  // namespace keepbox::cuda
