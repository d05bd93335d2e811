// SPDX-License-Identifier: LGPL-2.1-or-later
// Greedy suppression of many candidates by all blocks at once. The best 1,024 that are alive are
// compared with each other, one block resolves them, and what they keep strikes at all that are
// near it (near.cuh).
#include <cooperative_groups.h>

#include "kernels/cuda/resolve.cuh"
#include "kernels/cuda/sweep.cuh"

namespace keepbox::cuda {
namespace {

namespace cg = cooperative_groups;

constexpr uint32_t kThreads = kNmsThreads;
constexpr uint32_t kWarps = kNmsWarps;
constexpr uint32_t kChunk = kThreads;  // candidates that are resolved together
constexpr uint32_t kChunkWords = kChunk / kWarp;
constexpr uint32_t kRowsAtOnce = 8;

/// Scratch: the chunk's overlaps, bounds and counts of near.cuh, the shared number of kept ones,
/// and a bit for each dead candidate. Cleared from the counts on.
struct Words {
  uint32_t* mask;    // [word][candidate]: which candidates of the word overlap it
  uint32_t* bounds;
  uint32_t* counts;
  uint32_t* total;   // kept so far
  uint32_t* dead;

  __host__ __device__ Words(uint32_t* words, uint32_t count)
      : mask(words),
        bounds(mask + kChunkWords * kChunk),
        counts(bounds + bit_words(count) * 4),
        total(counts + kNearBins),
        dead(total + kWarp) {}
};

struct Shared {
  uint32_t chunk[kChunk];  // places in `ordered`
  uint64_t chunk_keys[kChunk];
  float4 chunk_boxes[kChunk];
  uint32_t starts[kNearBins];
  uint32_t sums[kWarps];
  Verdicts<kChunkWords> verdicts;
  SliceShared slice;
};

/// Lists the next candidates that are alive, from word `cursor` on. Every block finds the same.
/// @return how many; `cursor` moves on.
__device__ uint32_t next_chunk(const uint32_t* dead, uint32_t count, uint32_t& cursor,
                               Shared& shared) {
  uint32_t found = 0;
  const uint32_t words = (count + kWarp - 1) / kWarp;
  while (cursor < words && found < kChunk) {
    const uint32_t word = cursor + threadIdx.x;
    uint32_t alive = 0;
    if (word < words) {
      alive = ~__ldcg(dead + word);
      if (word == words - 1 && count % kWarp != 0) alive &= (1u << count % kWarp) - 1;
    }
    uint32_t all = 0;
    uint32_t at = found + sum_before(__popc(alive), shared.sums, all);
    const bool fits = at + __popc(alive) <= kChunk;
    if (fits)
      for (uint32_t rest = alive; rest != 0; rest &= rest - 1)
        shared.chunk[at++] = word * kWarp + __ffs(rest) - 1;
    // Words are taken whole: those that no longer fit wait for the next chunk.
    const uint32_t taken = __syncthreads_count(fits);
    if (found + all <= kChunk) {
      found += all;
      cursor += kThreads;
      continue;
    }
    cursor += taken;
    sum_before(fits ? __popc(alive) : 0, shared.sums, all);
    return found + all;
  }
  return found;
}

/// Which of a chunk's candidates overlap which later ones. Every block reads the whole chunk.
__device__ void compare_chunk(const DevicePlan& plan, const SlowArgs& args, const Words& words,
                              Shared& shared, uint32_t count) {
  const uint32_t lane = threadIdx.x % kWarp;
  const uint32_t rows = (count + kRowsAtOnce - 1) / kRowsAtOnce,
                 columns = (count + kWarp - 1) / kWarp;
  if (threadIdx.x < count) {
    const uint32_t place = shared.chunk[threadIdx.x];
    shared.chunk_keys[threadIdx.x] = args.ordered.keys[place];
    shared.chunk_boxes[threadIdx.x] = args.ordered.boxes[place];
  }
  __syncthreads();
  const uint32_t warps = gridDim.x * kWarps;
  for (uint32_t task = blockIdx.x * kWarps + threadIdx.x / kWarp; task < rows * columns;
       task += warps) {
    const uint32_t word = task % columns, first = task / columns * kRowsAtOnce;
    if (word * kWarp > first + kRowsAtOnce - 1) continue;
    const uint32_t j = word * kWarp + lane;
    const uint64_t key = shared.chunk_keys[min(j, count - 1)];
    const float4 box = shared.chunk_boxes[min(j, count - 1)];
#pragma unroll
    for (uint32_t r = 0; r < kRowsAtOnce; ++r) {
      const uint32_t i = first + r;
      if (i >= count) break;
      const bool hit = j < i && same_class(plan.rules.contract, shared.chunk_keys[i], key) &&
                       hits(plan, shared.chunk_boxes[i], box);
      const uint32_t bits = __ballot_sync(kFull, hit);
      if (lane == 0) words.mask[word * kChunk + i] = bits;
    }
  }
}

/// By one block; @return whether this thread's candidate is kept.
__device__ bool resolve_chunk(const Words& words, Shared& shared, uint32_t count) {
  const uint32_t i = threadIdx.x, warp = i / kWarp;
  uint32_t mask[kChunkWords];
#pragma unroll
  for (uint32_t w = 0; w < kChunkWords; ++w)
    mask[w] = i < count && w < warp ? __ldcg(words.mask + w * kChunk + i) : 0;
  const uint32_t own = i < count ? __ldcg(words.mask + warp * kChunk + i) : 0;
  return resolve(mask, own, i < count, shared.verdicts);
}

/// Adds what a chunk keeps to the list, up to the limit.
__device__ void append(const DevicePlan& plan, const SlowArgs& args, const Words& words,
                       Shared& shared, bool kept, uint32_t before) {
  uint32_t all = 0;
  const uint32_t at = before + sum_before(kept ? 1 : 0, shared.sums, all);
  if (kept && at < plan.limit()) {
    args.kept.keys[at] = shared.chunk_keys[threadIdx.x];
    args.kept.boxes[at] = shared.chunk_boxes[threadIdx.x];
  }
  if (threadIdx.x == 0) *words.total = min(before + all, plan.limit());
}

__global__ void __launch_bounds__(kThreads, 1)
    greedy(const __grid_constant__ DevicePlan plan, const __grid_constant__ SlowArgs args) {
  __shared__ Shared shared;
  const auto grid = cg::this_grid();
  const uint32_t count = min(args.count, plan.top_k);
  const Words words(args.words, count);
  const Near near = near_in(args, words.counts, words.bounds);
  count_near(plan, args, near, count);
  bool dealt = false;
  uint32_t cursor = 0, total = 0;
  while (total < plan.limit()) {
    const uint32_t in_chunk = next_chunk(words.dead, count, cursor, shared);
    if (in_chunk == 0) break;
    __syncthreads();
    compare_chunk(plan, args, words, shared, in_chunk);
    grid.sync();
    if (blockIdx.x == 0)
      append(plan, args, words, shared, resolve_chunk(words, shared, in_chunk), total);
    // Meanwhile by those that have nothing to do.
    const uint32_t idle = max(gridDim.x - 1, 1u);
    if (!dealt && blockIdx.x >= gridDim.x - idle)
      deal_near(plan, args, near, count, blockIdx.x - (gridDim.x - idle), idle, shared.starts,
                shared.sums);
    grid.sync();
    const uint32_t first = total;
    total = __ldcg(words.total);
    if (total >= plan.limit() || cursor * kWarp >= count) continue;
    if (!dealt) {
      bound_near(plan, near, count);
      grid.sync();
      dealt = true;
    }
    if (plan.plain_overlap)
      sweep<true>(plan, args.kept, near, shared.slice, words.dead, count, first, total);
    else
      sweep<false>(plan, args.kept, near, shared.slice, words.dead, count, first, total);
    grid.sync();
  }
  if (blockIdx.x == 0) write_out(args, args.kept, total);
}

__global__ void __launch_bounds__(kThreads)
    keep_all(const __grid_constant__ SlowArgs args, uint32_t count) {
  write_out(args, args.ordered, count);
}

}  // namespace

size_t slow_words(NmsMethod method, uint32_t count) {
  switch (method) {
    case NmsMethod::kNone:
      return 0;
    case NmsMethod::kBitmask:
      return bitmask_words(count);
    case NmsMethod::kSegmented:
      return segmented_words(count);
    case NmsMethod::kFast:
      return bit_words(count);
    default:
      return kChunkWords * kChunk + near_words(count) + kWarp + bit_words(count);
  }
}

namespace {

cudaError_t launch_greedy(const DevicePlan& plan, const SlowArgs& args, uint32_t count,
                          uint32_t blocks, cudaStream_t stream) {
  const Words words(args.words, count);
  const size_t cleared = kNearBins + kWarp + bit_words(count);
  const cudaError_t error =
      cudaMemsetAsync(words.counts, 0, cleared * sizeof(uint32_t), stream);
  if (error != cudaSuccess) return error;
  void* arguments[] = {const_cast<DevicePlan*>(&plan), const_cast<SlowArgs*>(&args)};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(greedy), dim3(blocks),
                                     dim3(kThreads), arguments, 0, stream);
}

}  // namespace

cudaError_t launch_nms(const DevicePlan& plan, const SlowArgs& args, uint32_t blocks,
                       cudaStream_t stream) {
  const uint32_t count = args.count < plan.top_k ? args.count : plan.top_k;
  switch (plan.rules.method) {
    case NmsMethod::kBitmask:
      return launch_bitmask(plan, args, count, stream);
    case NmsMethod::kSegmented:
      return launch_segmented(plan, args, count, stream);
    case NmsMethod::kFast:
      return launch_fast(plan, args, count, stream);
    case NmsMethod::kNone:
      keep_all<<<1, kThreads, 0, stream>>>(args, count < plan.limit() ? count : plan.limit());
      return cudaGetLastError();
    default:
      return launch_greedy(plan, args, count, blocks, stream);
  }
}

cudaError_t nms_blocks(uint32_t* blocks) {
  int device = 0, processors = 0, each = 0, cooperates = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, greedy, kThreads, 0);
  *blocks = static_cast<uint32_t>(processors * (each > 0 && cooperates != 0 ? 1 : 0));
  return error;
}

cudaError_t load_slow_path() {
  cudaError_t error = load_kernels(greedy, keep_all);
  for (cudaError_t (*load)() : {load_select, load_methods, load_segmented})
    if (error == cudaSuccess) error = load();
  return error;
}

}  // namespace keepbox::cuda
