// SPDX-License-Identifier: LGPL-2.1-or-later
// Select: sorts keys with their places, then moves each candidate once.
#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>

#include "core/reference/reference.h"
#include "kernels/simd/simd.h"

namespace keepbox::simd {

// Highway sorts pairs by their upper half.
static_assert(sizeof(SortSlot) == sizeof(hwy::K64V64) &&
              offsetof(SortSlot, key) == offsetof(hwy::K64V64, key) &&
              offsetof(SortSlot, index) == offsetof(hwy::K64V64, value));

uint32_t select(const Plan& plan, std::span<const Candidate> candidates,
                std::span<SortSlot> slots, std::span<Candidate> ordered) {
  constexpr size_t kFew = 64;  // where a plain sort is as quick
  const size_t count = candidates.size();
  const size_t wanted = std::min<size_t>(plan.rules.pre_nms_top_k, count);
  if (std::ranges::is_sorted(candidates, {}, &Candidate::key)) {  // as end-to-end models give them
    std::ranges::copy(candidates.first(wanted), ordered.begin());
    return static_cast<uint32_t>(wanted);
  }
  if (count <= kFew) return reference::select(plan, candidates, slots, ordered);
  for (size_t i = 0; i < count; ++i) slots[i] = {i, candidates[i].key};
  hwy::VQSort(reinterpret_cast<hwy::K64V64*>(slots.data()), count, hwy::SortAscending());
  for (size_t i = 0; i < wanted; ++i) ordered[i] = candidates[slots[i].index];
  return static_cast<uint32_t>(wanted);
}

}  // namespace keepbox::simd
