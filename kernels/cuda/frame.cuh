// SPDX-License-Identifier: LGPL-2.1-or-later
// The frame kernel: all blocks decode, and the last one to finish an image suppresses and writes
// out what is left, if that is not too much for one block. Each loader of numbers has a file of its
// own, for compilers that work side by side.
#pragma once

#include "kernels/cuda/scan.cuh"
#include "kernels/cuda/tail.cuh"
#include "kernels/cuda/tally.cuh"

namespace keepbox::cuda {

static_assert(kFrameThreads == kBlockThreads);

/// What a block holds beside the stage and the tail, which follow each other in the same memory.
struct BlockShared {
  ScanShared scan;
  TailShared tail;
  Header found;
  bool last;
};

/// Fetches all lines of the parameters at once, which would else be waited for one by one.
__device__ inline void fetch_parameters(const DevicePlan& plan) {
  constexpr uint32_t kLine = 64 / sizeof(uint32_t), kLines = sizeof(DevicePlan) / 64;
  if (threadIdx.x % kWarp != 0 || threadIdx.x / kWarp >= kLines) return;
  const uint32_t word = reinterpret_cast<const uint32_t*>(&plan)[threadIdx.x / kWarp * kLine];
  asm volatile("" ::"r"(word));
}

/// Reports this block's part of the image. Is it the last one? Then shared.found is what all found.
__device__ inline bool is_last(BlockShared& shared, const Stage& stage, Control& control) {
  if (threadIdx.x == 0) {
    __threadfence();
    Tally tally(stage.all_above, stage.flushed);
    tally.add_to(&control.tally);
    shared.last = tally.blocks() == gridDim.x;
    shared.found.above_threshold = tally.above();
    shared.found.candidates = tally.candidates();
    if (shared.last) __threadfence();
  }
  __syncthreads();
  return shared.last;
}

/// A number of boxes that says that there are others.
inline constexpr uint32_t kDeclined = ~0u;

/// Suppresses the image's candidates. @return how many are kept, at places in tail.kept; or
/// kDeclined, when that is too much to do here.
__device__ inline uint32_t suppress(const DevicePlan& plan, const Tail& tail, TailShared& shared,
                                    const Boxes& list, uint32_t count) {
  const bool all = count <= tail.capacity && count <= plan.top_k;
  // The best of many are enough where few boxes are wanted.
  if (!all && (plan.rules.contract.per_class_limit || count > tail.capacity * kLooks ||
               plan.rules.max_detections > kManyKept))
    return kDeclined;
  const uint32_t used = all ? count : choose(plan, tail, shared, list.keys, count);
  deal(plan, tail, shared, list, used, !all);
  if (plan.rules.method == NmsMethod::kNone && !plan.rules.contract.per_class_limit) {
    // all stay
  } else if (min(shared.large, plan.rules.max_detections) > kLargeClass) {
    return kDeclined;
  } else if (plan.plain_overlap) {
    thin<true>(plan, tail, shared);
  } else {
    thin<false>(plan, tail, shared);
  }
  const uint32_t kept =
      put_in_order(tail.keys, used, bins_of(plan), tail.bins, tail.places, tail.kept, shared.sums);
  return !all && kept < plan.rules.max_detections ? kDeclined : min(kept, plan.limit());
}

__device__ inline void write_out(const Tail& tail, uint32_t kept, uint64_t* out) {
  for (uint32_t word = threadIdx.x; word < kept * 3; word += kFrameThreads) {
    const uint32_t place = tail.kept[word / 3], part = word % 3;
    const auto* box = reinterpret_cast<const uint64_t*>(tail.boxes + place);
    out[word] = part == 0 ? tail.keys[place] : box[part - 1];
  }
}

/// Lets the host see an image's header, and before it what was written by the block.
__device__ inline void publish(Header& header, const Header& found, uint32_t sequence) {
  header.state = found.state;
  header.anchors = found.anchors;
  header.above_threshold = found.above_threshold;
  header.not_finite = found.not_finite;
  header.candidates = found.candidates;
  header.kept = found.kept;
  __threadfence_system();
  *static_cast<volatile uint32_t*>(&header.sequence) = sequence;
}

template <class Load>
__device__ void scan(const Source<Load>& from, Stage& stage, ScanShared& shared, Control& control,
                     const Boxes& list, uint32_t slices) {
  switch (from.plan.scan) {
    case Scan::kRows:
      return scan_rows(from, stage, shared, control, list);
    case Scan::kPlanes:
      return scan_planes(from, stage, shared, control, list, slices);
    case Scan::kReady:
      return scan_ready(from, stage, control, list);
  }
}

template <class Load>
__global__ void __launch_bounds__(kFrameThreads, 1)
    frame(const __grid_constant__ DevicePlan plan, const __grid_constant__ FrameArgs args) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ BlockShared shared;
  fetch_parameters(plan);
  Stage& stage = *reinterpret_cast<Stage*>(memory);
  const Source<Load> from{plan, blockIdx.y};
  Control& control = args.control[blockIdx.y];
  const size_t first = size_t{blockIdx.y} * plan.anchors;
  const Boxes list{args.candidates.keys + first, args.candidates.boxes + first};
  stage.begin();
  __syncthreads();
  scan(from, stage, shared.scan, control, list, args.slices);
  __syncthreads();
  stage.flush(control, list);
  if (!is_last(shared, stage, control)) return;
  Header& found = shared.found;
  const Tail tail(memory, args.tail_capacity, plan.class_ids);
  uint32_t kept = kDeclined;
  if (args.tail_capacity != 0) kept = suppress(plan, tail, shared.tail, list, found.candidates);
  if (kept != kDeclined) write_out(tail, kept, args.out + size_t{blockIdx.y} * args.out_stride * 3);
  __syncthreads();
  if (threadIdx.x != 0) return;
  found.anchors = from.anchors();
  found.not_finite = __ldcg(&control.not_finite);
  control = {};
  found.state = kept != kDeclined ? State::kDone : State::kMore;
  found.kept = kept != kDeclined ? kept : 0;
  publish(args.headers[blockIdx.y], found, args.sequence);
}

/// The kernels, for the runtime: each where it is compiled.
const void* frame_of_floats();
const void* frame_of_halves();
const void* frame_of_any();

}  // namespace keepbox::cuda
