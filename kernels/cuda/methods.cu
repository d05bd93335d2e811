// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression in one pass and by the words of a mask. As in segmented.cu, what is dead is marked, a
// bit a candidate, and what is alive is collected in order.
#include "kernels/cuda/nms.cuh"

namespace keepbox::cuda {
namespace {

constexpr uint32_t kTileThreads = 256;

/// Alive candidates in order, to the host. By one block.
__global__ void __launch_bounds__(kNmsThreads)
    collect(const __grid_constant__ SlowArgs args, uint32_t count, uint32_t limit) {
  __shared__ uint32_t sums[kNmsWarps];
  uint32_t kept = 0;
  for (uint32_t base = 0; base < count && kept < limit; base += kNmsThreads) {
    const uint32_t i = base + threadIdx.x;
    const bool alive = i < count && (args.words[i / kWarp] >> i % kWarp & 1) == 0;
    uint32_t all = 0;
    const uint32_t at = kept + sum_before(alive ? 1 : 0, sums, all);
    if (alive && at < limit) {
      args.kept.keys[at] = args.ordered.keys[i];
      args.kept.boxes[at] = args.ordered.boxes[i];
    }
    kept += all;
  }
  __syncthreads();
  write_out(args, args.kept, min(kept, limit));
}

/// Any earlier candidate suppresses, dead or not. A warp for 32 candidates and 32 earlier ones.
__global__ void __launch_bounds__(kTileThreads)
    strike_once(const __grid_constant__ DevicePlan plan, const __grid_constant__ SlowArgs args,
                uint32_t count) {
  const uint32_t warps = kTileThreads / kWarp, lane = threadIdx.x % kWarp;
  const uint32_t word = blockIdx.x, i = word * kWarp + lane;
  bool alive = i < count;
  const uint64_t key = alive ? args.ordered.keys[i] : 0;
  const float4 box = alive ? args.ordered.boxes[i] : float4{};
  for (uint32_t first = threadIdx.x / kWarp * kWarp; first <= word * kWarp; first += warps * kWarp)
    for (uint32_t j = first; j < min(first + kWarp, count) && __any_sync(kFull, alive); ++j)
      if (alive && j < i && suppresses(plan, args.ordered, j, key, box)) alive = false;
  const uint32_t dead = __ballot_sync(kFull, i < count && !alive);
  if (lane == 0 && dead != 0) atomicOr(args.words + word, dead);
}

__host__ __device__ constexpr uint32_t tiles_of(uint32_t count) {
  return (count + kTile - 1) / kTile;
}

/// The mask: a row a box, a word for 64 boxes, a bit where a later box overlaps it.
__device__ unsigned long long* mask_of(const SlowArgs& args, uint32_t count) {
  return reinterpret_cast<unsigned long long*>(args.words + (bit_words(count) + 1) / 2 * 2);
}

__global__ void __launch_bounds__(kTile)
    mask_tile(const __grid_constant__ DevicePlan plan, const __grid_constant__ SlowArgs args,
              uint32_t count) {
  if (blockIdx.x < blockIdx.y) return;  // columns before rows
  __shared__ uint64_t keys[kTile];
  __shared__ float4 boxes[kTile];
  const uint32_t column = blockIdx.x * kTile, row = blockIdx.y * kTile + threadIdx.x;
  if (column + threadIdx.x < count) {
    keys[threadIdx.x] = args.ordered.keys[column + threadIdx.x];
    boxes[threadIdx.x] = args.ordered.boxes[column + threadIdx.x];
  }
  __syncthreads();
  if (row >= count) return;
  const uint64_t key = args.ordered.keys[row];
  const float4 box = args.ordered.boxes[row];
  unsigned long long bits = 0;
  for (uint32_t j = 0; j < min(kTile, count - column); ++j)
    if (column + j > row && same_class(plan.rules.contract, key, keys[j]) && hits(plan, box, boxes[j]))
      bits |= 1ull << j;
  mask_of(args, count)[size_t{row} * tiles_of(count) + blockIdx.x] = bits;
}

/// From the first box on: what is not removed removes what its row says. By one block.
__global__ void __launch_bounds__(kNmsThreads)
    reduce_mask(const __grid_constant__ SlowArgs args, uint32_t count, uint32_t limit) {
  extern __shared__ unsigned long long removed[];  // a word a tile
  __shared__ unsigned long long diagonal[kTile], kept;
  const uint32_t tiles = tiles_of(count);
  const unsigned long long* mask = mask_of(args, count);
  for (uint32_t t = threadIdx.x; t < tiles; t += kNmsThreads) removed[t] = 0;
  uint32_t total = 0;
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    const uint32_t first = tile * kTile, in_tile = min(kTile, count - first);
    const bool full = total >= limit;  // what follows is not wanted any more
    if (threadIdx.x < in_tile)
      diagonal[threadIdx.x] = mask[size_t{first + threadIdx.x} * tiles + tile];
    __syncthreads();
    if (threadIdx.x == 0) kept = full ? 0 : resolve_tile(diagonal, removed[tile], in_tile);
    __syncthreads();
    const unsigned long long stay = kept;
    total += __popcll(stay);
    for (uint32_t t = tile + 1 + threadIdx.x; t < tiles; t += kNmsThreads)
      for (unsigned long long rest = stay; rest != 0; rest &= rest - 1)
        removed[t] |= mask[size_t{first + __ffsll(static_cast<long long>(rest)) - 1} * tiles + t];
    if (threadIdx.x < 2) {
      const uint32_t word = tile * 2 + threadIdx.x;
      if (word < bit_words(count))
        args.words[word] = ~static_cast<uint32_t>(stay >> threadIdx.x * kWarp);
    }
    __syncthreads();
  }
}

}  // namespace

cudaError_t clear_bits(const SlowArgs& args, uint32_t count, cudaStream_t stream) {
  return cudaMemsetAsync(args.words, 0, bit_words(count) * sizeof(uint32_t), stream);
}

cudaError_t launch_collect(const DevicePlan& plan, const SlowArgs& args, uint32_t count,
                           cudaStream_t stream) {
  collect<<<1, kNmsThreads, 0, stream>>>(args, count, plan.limit());
  return cudaGetLastError();
}

cudaError_t launch_fast(const DevicePlan& plan, const SlowArgs& args, uint32_t count,
                        cudaStream_t stream) {
  const cudaError_t error = clear_bits(args, count, stream);
  if (error != cudaSuccess) return error;
  if (count != 0) strike_once<<<bit_words(count), kTileThreads, 0, stream>>>(plan, args, count);
  return launch_collect(plan, args, count, stream);
}

size_t bitmask_words(uint32_t count) {
  return bit_words(count) + 2 + size_t{count} * tiles_of(count) * 2;
}

cudaError_t launch_bitmask(const DevicePlan& plan, const SlowArgs& args, uint32_t count,
                           cudaStream_t stream) {
  const uint32_t tiles = tiles_of(count);
  if (count != 0) {
    mask_tile<<<dim3(tiles, tiles), kTile, 0, stream>>>(plan, args, count);
    reduce_mask<<<1, kNmsThreads, tiles * sizeof(uint64_t), stream>>>(args, count, plan.limit());
  }
  return launch_collect(plan, args, count, stream);
}

cudaError_t load_methods() { return load_kernels(collect, strike_once, mask_tile, reduce_mask); }

}  // namespace keepbox::cuda
