// SPDX-License-Identifier: LGPL-2.1-or-later
// The end of frames whose host does not wait, in one launch: suppresses what the frame kernel left,
// one image after the other by all blocks, and writes the numbers of boxes.
#pragma once

#include <cooperative_groups.h>

#include "kernels/cuda/large/greedy.cuh"
#include "kernels/cuda/large/methods.cuh"
#include "kernels/cuda/large/select.cuh"

namespace keepbox::cuda {

union RestWork {
  SortShared sort;
  GreedyShared greedy;
  CollectShared collect;
};

struct RestShared {
  RestWork work;
  uint32_t sums[kNmsWarps];
  DevicePlan plan;  // of an image
};

/// Suppresses `ordered`, whose scratch space is cleared. Called by all blocks.
template <BoxGeometry Geometry>
__device__ void suppress_ordered(const DevicePlan& plan, const LargeArgs& args, uint32_t count,
                                 RestWork& shared) {
  if (plan.rules.method == NmsMethod::kGreedy) {
    suppress_greedily<Geometry>(plan, args, count, shared.greedy);
    return;
  }
  const bool compares = plan.rules.method == NmsMethod::kFast;
  for (uint32_t word = blockIdx.x; compares && word < warp_words(count); word += gridDim.x)
    suppress_word<Geometry>(plan, args, count, word);
  cg::this_grid().sync();
  if (blockIdx.x == 0) collect_alive(plan, args, count, shared.collect);
}

/// Sorts and suppresses the candidates of an image. Called by all blocks.
template <BoxGeometry Geometry>
__device__ void suppress_rest(const DevicePlan& plan, const LargeArgs& args, RestShared& shared) {
  const auto grid = cg::this_grid();
  const uint32_t count = min(args.count, plan.rules.pre_nms_top_k);
  const uint32_t thread = blockIdx.x * kNmsThreads + threadIdx.x, threads = gridDim.x * kNmsThreads;
  const auto cleared = static_cast<uint32_t>(
      plan.rules.method == NmsMethod::kGreedy ? GreedyWords::cleared(count) : Marks::words(count));
  for (uint32_t i = thread; i < cleared; i += threads) args.words[i] = 0;
  const SortArgs sort{.best_high = plan.best_high,
                      .octaves = plan.octaves,
                      .from = args.candidates,
                      .count = args.count,
                      .to = args.ordered,
                      .limit = plan.rules.pre_nms_top_k,
                      .runs = args.runs,
                      .run_index = args.run_index};
  const uint32_t runs = (args.count + kRun - 1) / kRun;
  for (uint32_t run = blockIdx.x; run < runs; run += gridDim.x) {
    __syncthreads();
    sort_run(sort, run, shared.work.sort, shared.sums);
  }
  grid.sync();
  for (uint32_t at = thread; at < runs * kRun; at += threads) place_one(sort, runs, at);
  grid.sync();
  suppress_ordered<Geometry>(plan, args, count, shared.work);
}

/// Removes empty boxes, and writes the counts of an image. Called by all threads of a block.
__device__ inline void finish_image(const DevicePlan& plan, const RestArgs& args, uint32_t image,
                                    uint32_t (&sums)[kNmsWarps]) {
  const Header& header = args.headers[image];
  Detection* const boxes = args.boxes + size_t{image} * args.stride;
  const uint32_t kept = __ldcg(&header.kept), empty = __ldcg(&header.empty);
  uint32_t total = empty == 0 ? kept : 0, filtered = 0;
  for (uint32_t base = 0; empty != 0 && base < kept; base += kNmsThreads) {
    const bool there = base + threadIdx.x < kept;
    const Detection box = there ? boxes[base + threadIdx.x] : Detection{};
    const bool stays = there && !is_empty(box.box);
    filtered += __syncthreads_count(there && is_filtered(box.box));
    uint32_t all = 0;
    const uint32_t at = total + sum_before(stays ? 1 : 0, sums, all);
    __syncthreads();
    if (stays) boxes[at] = box;
    total += all;
  }
  if (threadIdx.x != 0) return;
  args.counts[image] = total;
  if (args.funnels == nullptr) return;
  const uint32_t candidates = __ldcg(&header.candidates);
  args.funnels[image] = {.anchors = __ldcg(&header.anchors),
                         .above_threshold = __ldcg(&header.above_threshold),
                         .not_finite = __ldcg(&header.not_finite),
                         .after_class_filter = candidates,
                         .after_top_k = min(candidates, plan.rules.pre_nms_top_k),
                         .kept = kept,
                         .clipped_away = empty - filtered,
                         .filtered_out = filtered};
}

template <BoxGeometry Geometry>
__global__ void __launch_bounds__(kNmsThreads, 1)
    rest(const __grid_constant__ DevicePlan plan, const __grid_constant__ RestArgs args) {
  __shared__ RestShared shared;
  static_assert(sizeof shared <= 48 << 10, "more than every device has");
  const auto grid = cg::this_grid();
  for (uint32_t image = 0; image < args.images; ++image) {
    const uint32_t left = __ldcg(&args.first.control[image].left);
    if (left == 0) continue;
    __syncthreads();
    if (threadIdx.x == 0) {
      shared.plan = plan;
      if (plan.angles != nullptr) shared.plan.angles += size_t{image} * plan.rules.anchors;
      if (plan.maps != nullptr) shared.plan.maps += image;
    }
    __syncthreads();
    LargeArgs own = args.first;
    own.control += image;
    own.candidates = own.candidates.from(size_t{image} * plan.rules.candidates);
    own.count = left;
    own.header = args.headers + image;
    own.out = {args.boxes + size_t{image} * args.stride, nullptr};
    suppress_rest<Geometry>(shared.plan, own, shared);
    grid.sync();
  }
  for (uint32_t image = blockIdx.x; image < args.images; image += gridDim.x) {
    __syncthreads();
    finish_image(plan, args, image, shared.sums);
  }
}

/// Implements Kernels::rest, with fewer blocks if the device is shared or only partly available.
template <BoxGeometry Geometry>
cudaError_t launch_rest(const DevicePlan& plan, const RestArgs& args, uint32_t blocks,
                        cudaStream_t stream) {
  if (!supports_rest(plan.rules)) return cudaErrorNotSupported;
  void* arguments[] = {const_cast<DevicePlan*>(&plan), const_cast<RestArgs*>(&args)};
  for (; blocks > 0; blocks /= 2) {
    const cudaError_t error =
        cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(rest<Geometry>), dim3(blocks),
                                    dim3(kNmsThreads), arguments, 0, stream);
    if (error != cudaErrorCooperativeLaunchTooLarge) return error;
    (void)cudaGetLastError();
  }
  return cudaErrorNotSupported;
}

}  // namespace keepbox::cuda
