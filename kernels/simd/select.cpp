// SPDX-License-Identifier: LGPL-2.1-or-later
// Select: sorts scores with positions, then moves each candidate once.
#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>

#include "core/reference/reference.h"
#include "kernels/simd/simd.h"

namespace keepbox::simd {
namespace {

/// Returns the half of a key below the score: anchor and class.
uint32_t origin(const Candidate& candidate) { return static_cast<uint32_t>(candidate.key); }

}  // namespace

uint32_t select(const Plan& plan, std::span<const Candidate> candidates, std::span<SortSlot> slots,
                std::span<Candidate> ordered) {
  const size_t count = candidates.size();
  const bool by_class = plan.rules.pre_nms_class_top_k != 0;
  const size_t wanted = by_class ? count : std::min<size_t>(plan.rules.pre_nms_top_k, count);
  if (std::ranges::is_sorted(candidates, {}, &Candidate::key)) {  // as from end-to-end models
    std::ranges::copy(candidates.first(wanted), ordered.begin());
    return reference::cut(plan.rules, ordered.first(wanted));
  }
  // Candidates from decode are in the order of their origins, so that positions can be compared
  // instead: a score and its position fit into one number.
  if (!std::ranges::is_sorted(candidates, {}, origin))
    return reference::select(plan, candidates, slots, ordered);
  auto* const places = reinterpret_cast<uint64_t*>(slots.data());
  for (size_t i = 0; i < count; ++i) places[i] = (candidates[i].key >> 32 << 32) | i;
  hwy::VQSort(places, count, hwy::SortAscending());
  for (size_t i = 0; i < wanted; ++i) ordered[i] = candidates[static_cast<uint32_t>(places[i])];
  return reference::cut(plan.rules, ordered.first(wanted));
}

}  // namespace keepbox::simd
