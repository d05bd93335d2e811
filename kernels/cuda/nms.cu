// SPDX-License-Identifier: LGPL-2.1-or-later
// Greedy suppression of many candidates by all blocks at once. The best 1,024 that are alive are
// compared with each other, one block resolves them, and what they keep strikes at all that are near
// it (near.cuh).
#include <cooperative_groups.h>

#include "kernels/cuda/near.cuh"
#include "kernels/cuda/resolve.cuh"

namespace keepbox::cuda {
namespace {

namespace cg = cooperative_groups;

constexpr uint32_t kThreads = kNmsThreads;
constexpr uint32_t kWarps = kNmsWarps;
constexpr uint32_t kChunk = kThreads;  // candidates that are resolved together
constexpr uint32_t kChunkWords = kChunk / kWarp;
constexpr uint32_t kRowsAtOnce = 8;
constexpr uint32_t kSlice = 256;  // kept boxes of one task of the sweep, at most

/// Scratch: the chunk's overlaps, bounds and counts of near.cuh, the shared number of kept ones, and
/// a bit for each dead candidate. Cleared from the counts on.
struct Words {
  uint32_t* mask;    // [word][candidate]: which candidates of the word overlap it
  uint32_t* bounds;
  uint32_t* counts;
  uint32_t* total;   // kept so far
  uint32_t* dead;

  __host__ __device__ Words(uint32_t* words, uint32_t count)
      : mask(words),
        bounds(mask + kChunkWords * kChunk),
        counts(bounds + near_groups(count) * 4),
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
  uint64_t slice_keys[kSlice];
  float4 slice_boxes[kSlice];
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
      const bool hit = j < i && same_class(plan.contract, shared.chunk_keys[i], key) &&
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

/// Which of up to 64 boxes of a slice, from `first` on, may overlap one of a group: a bit each.
__device__ uint64_t boxes_near(const DevicePlan& plan, const Shared& shared, const float4& group,
                               uint32_t first, uint32_t end) {
  const bool all = !apart_is_free(plan);
  uint64_t out = 0;
#pragma unroll
  for (uint32_t half = 0; half < 2; ++half) {
    const uint32_t k = first + half * kWarp + threadIdx.x % kWarp;
    const bool may = k < end && (all || may_overlap(plan, group, shared.slice_boxes[k]));
    out |= static_cast<uint64_t>(__ballot_sync(kFull, may)) << half * kWarp;
  }
  return out;
}

/// Strikes at a group of candidates, a lane each, with a slice of kept boxes.
template <bool kPlain>
__device__ void strike_group(const DevicePlan& plan, const Words& words, const Near& near,
                             const Shared& shared, uint32_t count, uint32_t group, uint32_t boxes) {
  const float4 bounds = near.bounds[group];
  const uint32_t place = min(group * kWarp + threadIdx.x % kWarp, count - 1);
  const uint64_t who = near.who[place];
  const float4 box = near.boxes[place];
  bool struck = false;
  for (uint32_t first = 0; first < boxes; first += 64) {
    for (uint64_t rest = boxes_near(plan, shared, bounds, first, boxes); rest != 0;
         rest &= rest - 1) {
      const uint32_t k = first + __ffsll(static_cast<long long>(rest)) - 1;
      struck |= same_class(plan.contract, shared.slice_keys[k], who) &
                hits<kPlain>(plan, plan.iou_threshold, shared.slice_boxes[k], box);
    }
  }
  const auto rank = static_cast<uint32_t>(who >> 32);
  if (struck) atomicOr(words.dead + rank / kWarp, 1u << rank % kWarp);
}

/// Strikes with the boxes kept from `first` to `end`: a block takes a group for each of its warps and
/// a slice of the boxes at a time.
template <bool kPlain>
__device__ void sweep(const DevicePlan& plan, const SlowArgs& args, const Words& words,
                      const Near& near, Shared& shared, uint32_t count, uint32_t first,
                      uint32_t end) {
  const uint32_t groups = near_groups(count), rounds = (groups + kWarps - 1) / kWarps;
  // Small enough for two tasks a block.
  const uint32_t fair = rounds * (end - first) / (2 * gridDim.x);
  const uint32_t slice = min((fair / kWarp + 1) * kWarp, kSlice);
  const uint32_t slices = (end - first + slice - 1) / slice;
  for (uint32_t task = blockIdx.x; task < rounds * slices; task += gridDim.x) {
    const uint32_t from = first + task % slices * slice, boxes = min(slice, end - from);
    __syncthreads();
    if (threadIdx.x < boxes) {
      shared.slice_keys[threadIdx.x] = __ldcg(args.kept.keys + from + threadIdx.x);
      shared.slice_boxes[threadIdx.x] = __ldcg(args.kept.boxes + from + threadIdx.x);
    }
    __syncthreads();
    const uint32_t group = task / slices * kWarps + threadIdx.x / kWarp;
    if (group < groups) strike_group<kPlain>(plan, words, near, shared, count, group, boxes);
  }
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
      sweep<true>(plan, args, words, near, shared, count, first, total);
    else
      sweep<false>(plan, args, words, near, shared, count, first, total);
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
  switch (plan.method) {
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
