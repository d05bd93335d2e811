// SPDX-License-Identifier: LGPL-2.1-or-later
// Select: sorts scores with positions, then moves each candidate once.
#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>

#include "core/reference/backend.h"
#include "kernels/simd/backend.h"

namespace keepbox::simd {
namespace {

/// Returns the half of a key above the anchor and class: the score.
uint32_t score_half(const Candidate& candidate) {
  return static_cast<uint32_t>(candidate.key >> 32);
}
/// Returns the half below the score.
uint32_t origin(const Candidate& candidate) { return static_cast<uint32_t>(candidate.key); }

/// Orders candidates of equal scores, which are adjacent, by their origins.
void order_ties(std::span<Candidate> ordered) {
  for (auto first = ordered.begin(); first != ordered.end();) {
    const auto last = std::ranges::find_if(first + 1, ordered.end(), [&](const Candidate& each) {
      return score_half(each) != score_half(*first);
    });
    if (last - first > 1) std::ranges::sort(first, last, {}, origin);
    first = last;
  }
}

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
  // Most decoded candidates are in the order of their origins, so that positions can be compared
  // instead: a score and its position fit into one number.
  const bool by_origin = std::ranges::is_sorted(candidates, {}, origin);
  const size_t moved = by_origin ? wanted : count;
  auto* const places = reinterpret_cast<uint64_t*>(slots.data());
  for (size_t i = 0; i < count; ++i) places[i] = (candidates[i].key >> 32 << 32) | i;
  hwy::VQSort(places, count, hwy::SortAscending());
  for (size_t i = 0; i < moved; ++i) ordered[i] = candidates[static_cast<uint32_t>(places[i])];
  if (!by_origin) order_ties(ordered.first(moved));
  return reference::cut(plan.rules, ordered.first(wanted));
}

}  // namespace keepbox::simd
