// SPDX-License-Identifier: LGPL-2.1-or-later
// Greedy suppression: each kept box suppresses the candidates that it overlaps. Compiled once per
// instruction set.
#if defined(KEEPBOX_SIMD_GREEDY) == defined(HWY_TARGET_TOGGLE)
#ifdef KEEPBOX_SIMD_GREEDY
#undef KEEPBOX_SIMD_GREEDY
#else
#define KEEPBOX_SIMD_GREEDY
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <span>

#include "core/reference/nms.h"
#include "kernels/simd/spatial_grid-inl.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

/// Processes the best candidates first, as many as are likely to fill the limit, then all others.
/// Boxes of a full class suppress nothing.
template <class Vectors>
uint32_t suppress_greedily(const Plan& plan, std::span<const Candidate> candidates,
                           std::span<uint32_t> kept, const NmsScratch& scratch) {
  SpatialGrid<Vectors> boxes(plan, scratch);
  reference::ClassLimit limit(plan);
  size_t number = 0, first = 0, wanted = 4 * kept.size();
  while (first < candidates.size() && number < kept.size()) {
    const auto some = candidates.subspan(first, std::min(wanted, candidates.size() - first));
    boxes.insert(some);
    for (size_t i = 0; i < number; ++i) boxes.suppress_overlapped(candidates[kept[i]]);
    for (size_t i = 0; i < some.size() && number < kept.size(); ++i) {
      if (!boxes.alive(i) || !limit.admits(some[i])) continue;
      if (scratch.stop.requested()) return 0;
      kept[number++] = static_cast<uint32_t>(first + i);
      boxes.suppress_overlapped(some[i]);
    }
    first += some.size();
    wanted = candidates.size();
  }
  return static_cast<uint32_t>(number);
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
