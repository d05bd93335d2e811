// SPDX-License-Identifier: LGPL-2.1-or-later
// The frame kernel: all blocks decode, and the last one to finish an image suppresses and writes out
// what is left, if that is not too much for one block.
#include "kernels/cuda/scan.cuh"
#include "kernels/cuda/tail.cuh"

namespace keepbox::cuda {
namespace {

constexpr uint32_t kMostDealt = 4;  // candidates of a thread in the tail

/// What a block holds beside the stage and the tail, which follow each other in the same memory.
struct BlockShared {
  ScanShared scan;
  TailShared tail;
  Control found;
  bool last;
};

/// Lets the host see what was written before. By one thread, after a barrier.
__device__ void publish(Header& header, uint32_t sequence) {
  __threadfence_system();
  *static_cast<volatile uint32_t*>(&header.sequence) = sequence;
}

__device__ void fill_header(Header& header, const Control& found, uint32_t anchors, State state,
                            uint32_t kept) {
  header.state = state;
  header.anchors = anchors;
  header.above_threshold = found.above_threshold;
  header.not_finite = found.not_finite;
  header.candidates = found.count;
  header.kept = kept;
}

/// Deals the candidates out by class. @return the largest class.
__device__ uint32_t deal(const DevicePlan& plan, const Tail& tail, TailShared& shared,
                         const Boxes& list, uint32_t count, uint32_t ids) {
  for (uint32_t c = threadIdx.x; c < ids; c += kFrameThreads) tail.start[c] = 0;
  if (threadIdx.x == 0) shared.kept = shared.next = shared.largest = 0;
  __syncthreads();
  uint64_t keys[kMostDealt];
  uint32_t within[kMostDealt];
#pragma unroll
  for (uint32_t i = 0; i < kMostDealt; ++i) {
    const uint32_t at = i * kFrameThreads + threadIdx.x;
    if (at >= count) continue;
    keys[i] = __ldcg(list.keys + at);
    within[i] = atomicAdd(&tail.start[plan.contract.class_agnostic ? 0 : key_class(keys[i])], 1u);
  }
  __syncthreads();
  const uint32_t largest = start_classes(tail, shared, ids);
#pragma unroll
  for (uint32_t i = 0; i < kMostDealt; ++i) {
    const uint32_t at = i * kFrameThreads + threadIdx.x;
    if (at >= count) continue;
    const uint32_t to =
        tail.start[plan.contract.class_agnostic ? 0 : key_class(keys[i])] + within[i];
    tail.keys[to] = keys[i];
    tail.boxes[to] = __ldcg(list.boxes + at);
  }
  __syncthreads();
  return largest;
}

/// Classes that are too large for a warp one after the other, then the rest side by side.
__device__ void thin(const DevicePlan& plan, const Tail& tail, TailShared& shared,
                     uint32_t largest) {
  if (largest > kWarpBucket)
    for (uint32_t i = 0; i < shared.filled; ++i) {
      const uint32_t first = tail.start[tail.filled[i]];
      const uint32_t count = tail.start[tail.filled[i] + 1] - first;
      if (count > kWarpBucket) thin_by_block(plan, tail, shared, first, count);
    }
  const uint32_t lane = threadIdx.x % kWarp;
  for (uint32_t i = threadIdx.x / kWarp; i < shared.filled;) {
    const uint32_t first = tail.start[tail.filled[i]];
    const uint32_t count = tail.start[tail.filled[i] + 1] - first;
    if (count <= kWarpBucket) thin_by_warp(plan, tail, shared, first, count);
    if (lane == 0) i = kTailWarps + atomicAdd(&shared.next, 1u);
    i = __shfl_sync(kFull, i, 0);
  }
  __syncthreads();
}

/// Puts the first `kept` of tail.order in order, with tail.place.
__device__ void put_in_order(const Tail& tail, uint32_t kept) {
  const uint32_t padded = round_up_pow2(kept);
  for (uint32_t i = kept + threadIdx.x; i < padded; i += kFrameThreads) tail.order[i] = kNoKey;
  block_sort(tail.order, tail.place, padded);
}

/// The last block's work. @return whether it took the image on.
__device__ bool finish_image(const DevicePlan& plan, const FrameArgs& args, unsigned char* memory,
                             TailShared& shared, const Boxes& list, Control found,
                             uint32_t anchors) {
  Header& header = args.headers[blockIdx.y];
  const uint32_t ids = plan.contract.class_agnostic ? 1 : plan.class_ids;
  if (found.count > args.tail_capacity || found.count > plan.top_k) return false;
  const Tail tail(memory, args.tail_capacity, plan.class_ids);
  if (deal(plan, tail, shared, list, found.count, ids) > kBlockBucket) return false;
  thin(plan, tail, shared, shared.largest);
  put_in_order(tail, shared.kept);
  const uint32_t kept = min(shared.kept, plan.limit());
  uint64_t* out = args.out + size_t{blockIdx.y} * args.out_stride * 3;
  for (uint32_t word = threadIdx.x; word < kept * 3; word += kFrameThreads) {
    const uint32_t r = word / 3, part = word % 3;
    const auto* box = reinterpret_cast<const uint64_t*>(tail.boxes + tail.place[r]);
    out[word] = part == 0 ? tail.order[r] : box[part - 1];
  }
  if (threadIdx.x == 0) fill_header(header, found, anchors, State::kDone, kept);
  return true;
}

template <class Load>
__device__ void scan(const Source<Load>& from, Stage& stage, ScanShared& shared, Control& control,
                     const Boxes& list, uint32_t slices) {
  switch (from.plan.scan) {
    case Scan::kRows: return scan_rows(from, stage, shared, control, list);
    case Scan::kPlanes: return scan_planes(from, stage, shared, control, list, slices);
    case Scan::kReady: return scan_ready(from, stage, control, list);
  }
}

template <class Load>
__global__ void __launch_bounds__(kFrameThreads, 1)
    frame(const __grid_constant__ DevicePlan plan, const __grid_constant__ FrameArgs args) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ BlockShared shared;
  Stage& stage = *reinterpret_cast<Stage*>(memory);
  const Source<Load> from{plan, blockIdx.y};
  Control& control = args.control[blockIdx.y];
  const size_t first = size_t{blockIdx.y} * plan.anchors;
  const Boxes list{args.candidates.keys + first, args.candidates.boxes + first};
  stage.reset();
  __syncthreads();
  scan(from, stage, shared.scan, control, list, args.slices);
  __syncthreads();
  stage.flush(control, list);
  if (threadIdx.x == 0) {
    __threadfence();
    shared.last = atomicAdd(&control.ticket, 1u) == gridDim.x - 1;
    if (shared.last) {
      __threadfence();
      shared.found = {__ldcg(&control.count), __ldcg(&control.above_threshold),
                      __ldcg(&control.not_finite), 0};
      control = {};
    }
  }
  __syncthreads();
  if (!shared.last) return;
  const uint32_t anchors = from.anchors();
  Header& header = args.headers[blockIdx.y];
  if (!finish_image(plan, args, memory, shared.tail, list, shared.found, anchors) &&
      threadIdx.x == 0)
    fill_header(header, shared.found, anchors, State::kMore, 0);
  __syncthreads();
  if (threadIdx.x == 0) publish(header, args.sequence);
}

}  // namespace

cudaError_t prepare_frame(size_t limit, uint32_t class_ids, FrameMemory* memory) {
  memory->tail_capacity = kMostDealt * kFrameThreads;
  while (memory->tail_capacity > kFrameThreads &&
         tail_shared_bytes(memory->tail_capacity, class_ids) + sizeof(BlockShared) > limit)
    memory->tail_capacity /= 2;
  memory->bytes = tail_shared_bytes(memory->tail_capacity, class_ids);
  if (memory->bytes < sizeof(Stage)) memory->bytes = sizeof(Stage);
  const auto attribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
  const auto bytes = static_cast<int>(memory->bytes);
  const cudaError_t error = cudaFuncSetAttribute(frame<PlainLoad>, attribute, bytes);
  return error != cudaSuccess ? error : cudaFuncSetAttribute(frame<AnyLoad>, attribute, bytes);
}

cudaError_t launch_frame(const DevicePlan& plan, const FrameArgs& args, bool plain, dim3 grid,
                         size_t shared_bytes, cudaStream_t stream) {
  const auto kernel = plain ? frame<PlainLoad> : frame<AnyLoad>;
  kernel<<<grid, kFrameThreads, shared_bytes, stream>>>(plan, args);
  return cudaGetLastError();
}

}  // namespace keepbox::cuda
