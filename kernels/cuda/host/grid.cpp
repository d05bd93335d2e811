// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses the number of blocks by that of anchors and multiprocessors.
#include "kernels/cuda/host/grid.h"

#include <algorithm>
#include <bit>

#include "kernels/cuda/host/memory.h"

namespace keepbox::cuda {
namespace {

/// Returns the number of anchors that keep a block busy.
uint32_t anchors_per_block(Scan scan) {
  if (scan == Scan::kReady) return kFrameThreads;
  return scan == Scan::kPlanes || scan == Scan::kSegments ? kWarp : kFrameWarps;
}

/// Returns the blocks for an image, apart from limits. A batch of planes has at least one for the
/// anchors that its threads process at once: blocks that process more of them, and more blocks with
/// fewer classes per thread, took longer.
uint32_t blocks_for(const DevicePlan& plan, uint32_t processors, uint32_t images) {
  if (images == 1) return processors * (plan.scan == Scan::kRows ? 4 : 2);
  if (plan.scan != Scan::kPlanes) return processors * 8 / images;
  return std::max(processors * 2 / images,
                  (plan.rules.anchors + kFrameThreads - 1) / kFrameThreads);
}

}  // namespace

Result<FrameGrid> choose_grid(const DevicePlan& plan, uint32_t images) {
  int device = 0, processors = 0;
  KB_TRY_CUDA(cudaGetDevice(&device));
  KB_TRY_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  const uint32_t each = anchors_per_block(plan.scan);
  const uint32_t limit = std::max((plan.rules.anchors + each - 1) / each, 1u);
  const uint32_t blocks = blocks_for(plan, static_cast<uint32_t>(processors), images);
  FrameGrid out{.blocks = dim3(std::clamp(blocks, 1u, std::min(limit, kMaxBlocks)), images),
                .processors = static_cast<uint32_t>(processors)};
  // Maximum number of warps per anchor's classes without a second round of blocks.
  const uint32_t spare = out.blocks.x * kFrameThreads / std::max(1u, plan.rules.anchors);
  out.slices = std::bit_floor(std::clamp(spare, 1u, kFrameWarps));
  return out;
}

}  // namespace keepbox::cuda
