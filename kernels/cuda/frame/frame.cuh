// SPDX-License-Identifier: LGPL-2.1-or-later
// The frame kernel: all blocks decode, the last ones to finish an image suppress its candidates,
// and the last of those writes out the kept boxes, unless there are too many for so few blocks.
// Each loader has its own file so that they compile in parallel.
#pragma once

#include "kernels/cuda/frame/scan.cuh"
#include "kernels/cuda/frame/suppress.cuh"
#include "kernels/cuda/frame/write_kept.cuh"

namespace keepbox::cuda {

/// Shared memory of a block: scan, suppression and output use it in turn.
template <BoxGeometry Geometry>
struct FrameShared {
  union {
    struct {
      Stage stage;
      ScanShared scan;
    } decode;
    SuppressShared<Geometry> suppress;
    FinishShared finish;
  };
  Tally total;  // of all blocks
  uint32_t worker;
};

/// Prefetches the parameters' cache lines, which would otherwise be fetched one after the other.
__device__ inline void prefetch_parameters(const DevicePlan& plan) {
  constexpr uint32_t kLine = 64 / sizeof(uint32_t), kLines = sizeof(DevicePlan) / 64;
  if (threadIdx.x >= kLines) return;
  const uint32_t word = reinterpret_cast<const uint32_t*>(&plan)[threadIdx.x * kLine];
  asm volatile("" ::"r"(word));
}

/// Context of one block in an image's frame.
template <BoxGeometry Geometry>
struct Frame {
  const DevicePlan& plan;
  const FrameArgs& args;
  Control& control;
  FrameShared<Geometry>& shared;
  uint32_t image;

  __device__ Boxes bucketed() const {
    return args.bucketed.from(image * size_t{plan.buckets.count} * plan.buckets.capacity);
  }
  __device__ Boxes kept() const {
    return args.kept.from(image * plan.buckets.groups() * plan.buckets.group_capacity());
  }
  __device__ Boxes all() const {
    return args.candidates.from(size_t{image} * plan.rules.candidates);
  }

  /// Reports the block's counts. @return true if the block has more work; it then has the total
  /// counts.
  __device__ bool arrive(Worker& worker) const {
    const Stage& stage = shared.decode.stage;
    const uint32_t blocks = gridDim.x;
    worker.count = min(max(args.decode_only ? 1 : plan.buckets.groups(), 1u), blocks);
    if (threadIdx.x == 0) {
      const Tally own = Tally::of_block(stage.all_above, stage.flushed);
      uint64_t* const tally = control.tally + args.tally_index;
      Tally total = own;
      if (blocks > 1) total.word += add_acq_rel(tally, own.word);
      uint32_t number = blocks - total.blocks();
      if (number != 0 && number < worker.count &&
          (!wait_for_scan(tally, blocks, args.max_wait_cycles, total) || total.timed_out() != 0))
        number = worker.count;
      shared.worker = number;
      shared.total = total;
    }
    __syncthreads();
    worker.number = shared.worker;
    if (shared.total.timed_out() != 0) worker.count = 1;
    return worker.number < worker.count;
  }

  /// Runs suppression. @return true if this block has to write the boxes out, which are in
  /// `kept_lists`.
  __device__ bool suppress_image(const Worker& worker, KeptLists& kept_lists) const {
    if (plan.buckets.count == 0) {
      kept_lists = {all(), shared.total.candidates(), 0, 0};
      return true;
    }
    if (!suppress<Geometry>(plan, control, bucketed(), kept(), shared.suppress, worker))
      return false;
    const uint32_t filled = shared.suppress.filled;
    __syncthreads();
    kept_lists = collect_kept(control, kept(), plan.buckets, filled, shared.finish);
    return true;
  }

  /// Reports to the host, unless one_launch() does, and clears the counters. @param written boxes,
  /// or kTooMany. Called by one thread.
  __device__ void report(uint32_t anchors, uint32_t written, uint32_t empty) const {
    const bool done = written != kTooMany;
    const uint32_t candidates = shared.total.candidates();
    const bool all = shared.total.above() == candidates;
    const uint32_t not_finite = all ? 0 : __ldcg(&control.not_finite);
    write_header(args.headers[image], {.state = done ? State::kDone : State::kMore,
                                       .anchors = anchors,
                                       .above_threshold = shared.total.above(),
                                       .not_finite = not_finite,
                                       .candidates = candidates,
                                       .kept = done ? written : 0,
                                       .empty = done ? empty : 0});
    control.tally[1 - args.tally_index] = 0;
    control.taken = control.not_finite = control.finished = control.overflowed = 0;
    control.left = done ? 0 : candidates;
    control.complete = done && empty == 0 ? written : kNotComplete;
    if (done || !args.followed || !fits_one_launch(candidates))
      signal_host(args.headers[image].sequence, args.sequence);
  }
};

template <class Load, BoxGeometry Geometry>
__global__ void __launch_bounds__(kFrameThreads, 4)
    frame(const __grid_constant__ DevicePlan plan, const __grid_constant__ FrameArgs args,
          const __grid_constant__ SegmentsOf<Load> segments) {
  __shared__ FrameShared<Geometry> shared;
  static_assert(sizeof shared <= 48 << 10, "more than every device has");
  prefetch_parameters(plan);
  const uint32_t image = blockIdx.y;
  const Frame<Geometry> self{plan, args, args.control[image], shared, image};
  const Lists lists{self.all(), self.bucketed()};
  Stage& stage = shared.decode.stage;
  stage.begin();
  __syncthreads();
  if constexpr (Load::kSegments)
    scan_segments<Load>(plan, segments, image, stage, shared.decode.scan, self.control, lists,
                        args.slices);
  else
    scan(FieldReader<Load>(plan, image), stage, shared.decode.scan, self.control, lists,
         args.slices);
  __syncthreads();
  stage.flush(plan, self.control, lists);
  Worker worker;
  if (!self.arrive(worker)) return;
  const uint32_t candidates = shared.total.candidates();
  uint32_t written = kTooMany, empty = 0;
  if (!args.decode_only && candidates <= args.limit) {
    KeptLists kept_lists;
    if (!self.suppress_image(worker, kept_lists)) return;
    if (__syncthreads_or(__ldcg(&self.control.overflowed) != 0) == 0)
      written = finish(plan, kept_lists, shared.finish,
                       args.out.from(size_t{image} * args.out_stride), empty);
  } else {
    if (worker.number != 0) return;
  }
  // Cleared late because other blocks determine their work from it.
  if (threadIdx.x < plan.buckets.count) self.control.counts[threadIdx.x] = 0;
  uint32_t rows;
  if constexpr (Load::kSegments)
    rows = rows_of<Load>(plan, segments, image, shared.decode.scan.segmented.segment());
  else rows = anchors_of(FieldReader<Load>(plan, image));
  if (threadIdx.x == 0) self.report(rows, written, empty);
}

template <class Load, BoxGeometry Geometry>
const void* frame_kernel() {
  return reinterpret_cast<const void*>(frame<Load, Geometry>);
}

inline cudaError_t launch_frame(const void* kernel, const DevicePlan& plan, const FrameArgs& args,
                                const SegmentTable& segments, dim3 grid, cudaStream_t stream) {
  void* arguments[] = {const_cast<DevicePlan*>(&plan), const_cast<FrameArgs*>(&args),
                       const_cast<SegmentTable*>(&segments)};  // ignored by most kernels
  return cudaLaunchKernel(kernel, grid, dim3(kFrameThreads), arguments, 0, stream);
}

/// Return the kernels of upright boxes, each from its own file.
const void* frame_of_floats();
const void* frame_of_halves();
const void* frame_of_bytes();
const void* frame_of_any();
/// Return the kernels for Scan::kSegments.
const void* frame_of_float_segments();
const void* frame_of_any_segments();

}  // namespace keepbox::cuda
