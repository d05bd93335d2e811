// SPDX-License-Identifier: LGPL-2.1-or-later
// The methods of suppression, and what they have in common.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/box.h"
#include "core/plan.h"
#include "core/workspace.h"

namespace keepbox::reference {

/// Each writes what it keeps to `kept`, in key order, and returns how many.
/// @pre words.size() >= nms_words(plan)
uint32_t greedy(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept);
uint32_t fast(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept);
uint32_t bitmask(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
                 std::span<uint64_t> words);
uint32_t segmented(const Plan& plan, std::span<const Candidate> candidates,
                   std::span<uint32_t> kept, std::span<uint64_t> words);

/// Does the better box of two suppress the other, if it is in a position to?
inline bool suppresses(const Plan& plan, const Candidate& better, const Candidate& other) {
  return (plan.contract.class_agnostic || key_class(better.key) == key_class(other.key)) &&
         overlaps(better.box, other.box, plan.iou_threshold, plan.contract);
}

/// Counts a class's boxes where the contract limits them.
class ClassLimit {
 public:
  explicit ClassLimit(const Plan& plan) : plan_(plan) {}

  /// May one more box of its class be kept? Counts it if so.
  bool admits(const Candidate& candidate) {
    if (!plan_.contract.per_class_limit) return true;
    uint32_t& count = counts_[key_class(candidate.key)];
    if (count == plan_.max_detections) return false;
    ++count;
    return true;
  }

 private:
  const Plan& plan_;
  std::array<uint32_t, kMaxClasses> counts_{};
};

/// Keeps the candidates that pass, up to all limits. @param passes of (index, kept so far).
template <class Passes>
uint32_t keep(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
              Passes passes) {
  ClassLimit limit(plan);
  uint32_t count = 0;
  for (uint32_t i = 0; i < candidates.size() && count < plan.kept_capacity; ++i)
    if (passes(i, kept.first(count)) && limit.admits(candidates[i])) kept[count++] = i;
  return count;
}

inline bool bit(std::span<const uint64_t> words, size_t i) {
  return (words[i / kWordBits] >> (i % kWordBits) & 1) != 0;
}

/// Resolves the IoU mask of n boxes, best first, a row at a time: whole, it would be n * n bits.
/// @param removed one bit a box, clear. @param hits of (i, j): does box i suppress box j?
/// @param keeps of (i): is box i, which none suppressed, kept? Only then its row counts.
template <class Hits, class Keeps>
void resolve_mask(size_t n, std::span<uint64_t> removed, Hits hits, Keeps keeps) {
  for (size_t i = 0; i < n; ++i) {
    if (bit(removed, i) || !keeps(i)) continue;
    for (size_t word = i / kWordBits; word * kWordBits < n; ++word) {
      const size_t first = std::max(word * kWordBits, i + 1);
      const size_t end = std::min((word + 1) * kWordBits, n);
      uint64_t mask = 0;
      for (size_t j = first; j < end; ++j) mask |= uint64_t{hits(i, j)} << (j % kWordBits);
      removed[word] |= mask;
    }
  }
}

}  // namespace keepbox::reference
