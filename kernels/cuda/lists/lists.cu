// SPDX-License-Identifier: LGPL-2.1-or-later
// Candidates of boxes that come from no tensors, and indices of those that are kept.
#include "kernels/cuda/lists/lists.h"

#include "kernels/cuda/large/nms.cuh"

namespace keepbox::cuda {
namespace {

constexpr uint32_t kListThreads = 256, kListWarps = kListThreads / kWarp;

/// Boxes of a problem, which has one row of the grid.
struct Problem {
  uint32_t first, boxes;

  __device__ explicit Problem(const ListArgs& args)
      : first(args.starts[blockIdx.y]), boxes(args.starts[blockIdx.y + 1] - first) {}
};

/// Adds the boxes of a warp to the extent. Called by all its threads. Most warps add nothing.
__device__ void add_to_extent(Extent& extent, bool found, const Box& box) {
  const float sides[] = {-box.x1, -box.y1, box.x2, box.y2};
#pragma unroll
  for (uint32_t side = 0; side < 4; ++side) {
    const uint32_t most = ~warp_min(found ? ~ascending(sides[side]) : kFull);
    if (lane_id() == 0 && most > __ldcg(&extent.most[side])) atomicMax(&extent.most[side], most);
  }
}

/// Returns the key of a box that is no candidate: it sorts last and stays unique.
__device__ uint64_t dropped_key_of(const DevicePlan& plan, uint32_t index) {
  return dropped_key(order_key(0, anchor_in_key(plan.rules.contract, index), 0));
}

__global__ void __launch_bounds__(kListThreads)
    make_candidates(const __grid_constant__ DevicePlan plan,
                    const __grid_constant__ ListArgs args) {
  __shared__ uint32_t sums[kListWarps], front, back;
  const Problem problem(args);
  const uint32_t base = blockIdx.x * kListThreads, i = base + threadIdx.x;
  if (base >= problem.boxes) return;
  const bool there = i < problem.boxes;
  const BoxList list = args.list.from(problem.first, plan.rules.oriented);
  ListCounters& counters = args.counters[blockIdx.y];
  Candidate candidate;
  const bool found =
      there && try_box(plan.rules, plan.tables, list, i, candidate) == Outcome::kCandidate;
  if (there && list.classes != nullptr && !is_class(list.classes[i]))
    atomicMax(&counters.bad_class, ~(problem.first + i));
  if (problem.boxes > kRun) add_to_extent(counters.extent, found, candidate.box);
  uint32_t all = 0;
  const uint32_t before = sum_before(found ? 1 : 0, sums, all);
  if (threadIdx.x == 0) {
    const uint32_t boxes = min(kListThreads, problem.boxes - base);
    front = atomicAdd(&counters.taken, all);
    back = atomicAdd(&counters.dropped, boxes - all);
    atomicAdd(&args.control[blockIdx.y].left, args.counts_all[blockIdx.y] ? boxes : all);
  }
  __syncthreads();
  if (!there) return;
  // From the front, or from the end: no entry stays without a box.
  const uint32_t at =
      problem.first + (found ? front + before : problem.boxes - 1 - (back + threadIdx.x - before));
  const Box& box = candidate.box;  // 0 if there is none
  args.candidates.keys[at] = found ? candidate.key : dropped_key_of(plan, i);
  args.candidates.boxes[at] = {box.x1, box.y1, box.x2, box.y2};
  if (args.angles != nullptr) args.angles[problem.first + i] = candidate.angle;
}

/// Returns the number of kept boxes up to one that is no candidate; these are the last.
/// @param at of a kept box.
__device__ bool is_last(const Detection* kept, uint32_t at, uint32_t count) {
  return at + 1 == count || !is_finite(kept[at + 1].score);
}

/// With one block per problem, sets its counters to 0, because all threads have read them then.
__global__ void __launch_bounds__(kListThreads)
    write_indices(const __grid_constant__ ListArgs args) {
  const Problem problem(args);
  const Detection* const kept = args.out + problem.first;
  Header& header = args.headers[blockIdx.y];
  ListCounters& counters = args.counters[blockIdx.y];
  const uint32_t count = header.kept;
  const bool first = blockIdx.x == 0 && threadIdx.x == 0;
  if (first && (count == 0 || !is_finite(kept[0].score))) args.counts[blockIdx.y] = 0;
  for (uint32_t i = blockIdx.x * kListThreads + threadIdx.x; i < count;
       i += gridDim.x * kListThreads) {
    if (!is_finite(kept[i].score)) break;
    args.indices[problem.first + i] = problem.first + kept[i].anchor;
    if (is_last(kept, i, count)) args.counts[blockIdx.y] = i + 1;
  }
  if (first && args.results != nullptr && counters.bad_class != 0)
    args.results->bad_class = counters.bad_class;
  __syncthreads();
  if (!first || gridDim.x != 1) return;
  args.control[blockIdx.y].left = 0;
  header.kept = 0;
  counters = {};
  if (args.sequence != 0) signal_host(args.results->sequence, args.sequence);
}

__global__ void signal(ListResults* results, uint32_t sequence) {
  signal_host(results->sequence, sequence);
}

}  // namespace

cudaError_t launch_list_candidates(const DevicePlan& plan, const ListArgs& args,
                                   cudaStream_t stream) {
  const dim3 blocks((args.largest + kListThreads - 1) / kListThreads, args.count);
  if (blocks.x == 0) return cudaSuccess;
  make_candidates<<<blocks, kListThreads, 0, stream>>>(plan, args);
  return cudaGetLastError();
}

cudaError_t launch_list_indices(const ListArgs& args, cudaStream_t stream) {
  constexpr uint32_t kEach = 2 * kListThreads, kMaxBlocksEach = 256;
  const uint32_t blocks =
      args.is_small() ? 1 : min((args.largest + kEach - 1) / kEach, kMaxBlocksEach);
  write_indices<<<dim3(blocks, args.count), kListThreads, 0, stream>>>(args);
  cudaError_t error = cudaGetLastError();
  if (blocks == 1) return error;
  const auto clear = [&](auto* first) {
    if (error == cudaSuccess) error = cudaMemsetAsync(first, 0, args.count * sizeof *first, stream);
  };
  clear(args.control);
  clear(args.headers);
  clear(args.counters);
  return error;
}

cudaError_t launch_list_signal(ListResults* results, uint32_t sequence, cudaStream_t stream) {
  signal<<<1, 1, 0, stream>>>(results, sequence);
  return cudaGetLastError();
}

}  // namespace keepbox::cuda
