// SPDX-License-Identifier: LGPL-2.1-or-later
// Output of kept boxes to the host.
#pragma once

#include "core/formula/emit.h"
#include "kernels/cuda/device/bins.cuh"
#include "kernels/cuda/device/shape.cuh"

namespace keepbox::cuda {

/// Writes half of a box. @param number of the half.
__device__ inline void write_half(const BoxOutput& to, uint32_t number, const uint4& half) {
  reinterpret_cast<uint4*>(to.host)[number] = half;
  if (to.device != nullptr) reinterpret_cast<uint4*>(to.device)[number] = half;
}

/// Writes a box.
__device__ inline void write(const BoxOutput& to, uint32_t number, const Detection& box) {
  static_assert(sizeof(Detection) == 2 * sizeof(uint4));
  uint4 halves[2];
  memcpy(halves, &box, sizeof box);
  write_half(to, 2 * number, halves[0]);
  write_half(to, 2 * number + 1, halves[1]);
}

/// Returns the map between the frame and the block's image.
__device__ inline const Letterbox& letterbox_of(const DevicePlan& plan) {
  return plan.maps == nullptr ? plan.letterbox : plan.maps[blockIdx.y];
}

/// Staging for boxes, so that host memory is written in full lines.
template <uint32_t kThreads>
struct EmitShared {
  uint4 staged[2 * kThreads];  // two per box
  uint32_t sums[kThreads / kWarp];
};

/// Maps a block's boxes to the frame and writes them to `out`, adjacently. Called by all threads;
/// has its own barriers. @param key,box of a thread that has a box. @return their number; adds to
/// `empty` those outside of the frame or filtered out.
template <uint32_t kThreads>
__device__ uint32_t emit(const DevicePlan& plan, EmitShared<kThreads>& shared, bool there,
                         uint64_t key, const float4& box, const BoxOutput& out, uint32_t& empty) {
  uint32_t count = 0;
  const uint32_t at = sum_before(there ? 1 : 0, shared.sums, count);
  bool nothing = false;
  if (there) {
    const Detection box_out =
        emitted(candidate(plan, key, box), letterbox_of(plan), plan.rules, plan.tables);
    memcpy(shared.staged + 2 * at, &box_out, sizeof box_out);
    nothing = is_empty(box_out.box);
  }
  empty += __syncthreads_count(nothing);
  for (uint32_t i = threadIdx.x; i < 2 * count; i += kThreads) write_half(out, i, shared.staged[i]);
  __syncthreads();
  return count;
}

/// Writes a number to the host, which makes the writes of this thread before it, and those of
/// others before the last barrier, visible to the host.
__device__ inline void signal_host(uint32_t& to, uint32_t sequence) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(&to), "r"(sequence) : "memory");
}

/// Writes an image's header, except for its sequence. Called by one thread.
__device__ inline void write_header(Header& header, const Header& found) {
  header.state = found.state;
  header.anchors = found.anchors;
  header.above_threshold = found.above_threshold;
  header.not_finite = found.not_finite;
  header.candidates = found.candidates;
  header.kept = found.kept;
  header.empty = found.empty;
}

}  // namespace keepbox::cuda
