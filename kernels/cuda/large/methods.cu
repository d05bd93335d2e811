// SPDX-License-Identifier: LGPL-2.1-or-later
// Parts of the methods that are independent of the geometry.
#include "kernels/cuda/large/methods.cuh"

#include <algorithm>

#include "kernels/cuda/large/large_nms.cuh"

namespace keepbox::cuda {
namespace {

/// Writes alive candidates in order to the host. Runs in one block.
__global__ void __launch_bounds__(kNmsThreads)
    collect(const __grid_constant__ DevicePlan plan, const __grid_constant__ LargeArgs args,
            uint32_t count) {
  __shared__ CollectShared shared;
  collect_alive(plan, args, count, shared);
}

/// Reduces masks of one stripe. Runs in one block.
__global__ void __launch_bounds__(kNmsThreads)
    reduce_mask(const __grid_constant__ LargeArgs args, uint32_t count, uint32_t first_tile,
                uint32_t limit) {
  __shared__ unsigned long long diagonal[kTile], kept;
  const uint32_t tiles = tiles_of(count);
  const MaskWords words(args.words, count);
  uint32_t total = *words.kept;
  for (uint32_t tile = first_tile; tile < min(first_tile + kStripe, tiles); ++tile) {
    const uint32_t first = tile * kTile, in_tile = min(kTile, count - first);
    const unsigned long long* rows = words.rows + size_t{tile - first_tile} * kTile * tiles;
    const bool full = total >= limit;  // no further boxes are needed
    if (threadIdx.x < in_tile) diagonal[threadIdx.x] = rows[size_t{threadIdx.x} * tiles + tile];
    __syncthreads();
    if (threadIdx.x == 0)
      kept = full ? 0 : resolve_tile(diagonal, __ldcg(words.removed + tile), in_tile);
    __syncthreads();
    const unsigned long long stay = kept;
    total += __popcll(stay);
    for (uint32_t t = tile + 1 + threadIdx.x; t < tiles; t += kNmsThreads) {
      unsigned long long removed = words.removed[t];
      for (unsigned long long rest = stay; rest != 0; rest &= rest - 1)
        removed |= rows[size_t{__ffsll(static_cast<long long>(rest)) - 1u} * tiles + t];
      words.removed[t] = removed;
    }
    if (threadIdx.x < 2 && tile * 2 + threadIdx.x < warp_words(count))
      words.marks.dead[tile * 2 + threadIdx.x] =
          ~static_cast<uint32_t>(stay >> threadIdx.x * kWarp);
    __syncthreads();
  }
  if (threadIdx.x == 0) *words.kept = total;
}

__global__ void set_maps(const __grid_constant__ MapsArgs args, Letterbox* to) {
  if (threadIdx.x < args.count) to[threadIdx.x] = args.maps[threadIdx.x];
}

}  // namespace

cudaError_t launch_set_maps(const MapsArgs& args, Letterbox* to, cudaStream_t stream) {
  set_maps<<<1, kMapsAtOnce, 0, stream>>>(args, to);
  return cudaGetLastError();
}

cudaError_t clear_marks(const LargeArgs& args, uint32_t count, cudaStream_t stream) {
  return cudaMemsetAsync(args.words, 0, Marks::words(count) * sizeof(uint32_t), stream);
}

cudaError_t launch_collect(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                           cudaStream_t stream) {
  collect<<<1, kNmsThreads, 0, stream>>>(plan, args, count);
  return cudaGetLastError();
}

cudaError_t launch_reduce(const LargeArgs& args, uint32_t count, uint32_t first_tile,
                          uint32_t limit, cudaStream_t stream) {
  reduce_mask<<<1, kNmsThreads, 0, stream>>>(args, count, first_tile, limit);
  return cudaGetLastError();
}

cudaError_t load_methods() { return load_kernels(collect, reduce_mask, set_maps); }

bool supports_rest(const Rules& rules) {
  const bool known = rules.method == NmsMethod::kGreedy || rules.method == NmsMethod::kFast ||
                     rules.method == NmsMethod::kNone;
  return known && rules.pre_nms_class_top_k == 0 && !needs_sequential_nms(rules);
}

size_t large_words(NmsMethod method, uint32_t count) {
  switch (method) {
    case NmsMethod::kNone: return Marks::words(count);
    case NmsMethod::kFast: return std::max(Marks::words(count), one_launch_words(count));
    case NmsMethod::kBitmask: return MaskWords::words(count);
    case NmsMethod::kSegmented: return Segments::words(count);
    case NmsMethod::kSoftLinear:
    case NmsMethod::kSoftGaussian:
    case NmsMethod::kWeighted:
    case NmsMethod::kDiou:
    case NmsMethod::kMerge: return SequentialWords::words(count);
    case NmsMethod::kMatrix:
    case NmsMethod::kMatrixLinear: return MatrixWords::words(count);
    case NmsMethod::kAuto:
    case NmsMethod::kGreedy: break;
  }
  return std::max({GreedyWords::words(count), MaskWords::words(count), one_launch_words(count)});
}

}  // namespace keepbox::cuda
