// SPDX-License-Identifier: LGPL-2.1-or-later
// The methods of suppression, for boxes of any geometry (core/geometry.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/box.h"
#include "core/geometry.h"
#include "core/plan.h"
#include "core/workspace.h"

namespace keepbox::reference {

/// Does the better box of two suppress the other, if it is in a position to?
template <class Geometry>
bool suppresses(const Plan& plan, const Candidate& better, const Candidate& other) {
  return same_class(plan.rules.contract, better.key, other.key) &&
         overlap<Geometry>(plan.rules, better, other);
}

/// Counts a class's boxes where they have a limit.
class ClassLimit {
 public:
  explicit ClassLimit(const Plan& plan) : rules_(plan.rules) {}

  /// May one more box of its class be kept? Counts it if so.
  bool admits(const Candidate& candidate) {
    if (!rules_.limits_classes()) return true;
    uint32_t& count = counts_[key_class(candidate.key)];
    if (count == rules_.class_limit) return false;
    ++count;
    return true;
  }

 private:
  const Rules& rules_;
  std::array<uint32_t, kMaxClasses> counts_{};
};

/// Keeps the candidates that pass, up to all limits. @param passes of (index, kept so far).
/// @param when_kept of (index).
template <class Passes, class WhenKept>
uint32_t keep(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
              Passes passes, WhenKept when_kept) {
  ClassLimit limit(plan);
  uint32_t count = 0;
  for (uint32_t i = 0; i < candidates.size() && count < plan.rules.kept_capacity; ++i) {
    if (!passes(i, kept.first(count)) || !limit.admits(candidates[i])) continue;
    kept[count++] = i;
    when_kept(i);
  }
  return count;
}

template <class Passes>
uint32_t keep(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
              Passes passes) {
  return keep(plan, candidates, kept, passes, [](uint32_t) {});
}

/// As it is written in every paper. @param strikes of (better box that was kept, other).
template <class Strikes>
uint32_t greedy_by(const Plan& plan, std::span<const Candidate> candidates,
                   std::span<uint32_t> kept, Strikes strikes) {
  return keep(plan, candidates, kept, [&](uint32_t i, std::span<const uint32_t> before) {
    return std::ranges::none_of(
        before, [&](uint32_t k) { return strikes(candidates[k], candidates[i]); });
  });
}

template <class Geometry>
uint32_t greedy(const Plan& plan, std::span<const Candidate> candidates,
                std::span<uint32_t> kept) {
  return greedy_by(plan, candidates, kept, [&](const Candidate& better, const Candidate& other) {
    return suppresses<Geometry>(plan, better, other);
  });
}

/// In one pass, as in YOLACT: a suppressed box suppresses too, which loses boxes.
template <class Geometry>
uint32_t fast(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept) {
  return keep(plan, candidates, kept, [&](uint32_t i, auto) {
    return std::ranges::none_of(candidates.first(i), [&](const Candidate& better) {
      return suppresses<Geometry>(plan, better, candidates[i]);
    });
  });
}

inline bool bit(std::span<const uint64_t> words, size_t i) {
  return (words[i / kWordBits] >> (i % kWordBits) & 1) != 0;
}
inline void set_bit(std::span<uint64_t> words, size_t i) {
  words[i / kWordBits] |= uint64_t{1} << (i % kWordBits);
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

/// By words of a mask, as in Faster R-CNN's code. @pre words.size() >= nms_words(plan)
template <class Geometry>
uint32_t bitmask(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
                 std::span<uint64_t> words) {
  std::ranges::fill(words, 0);
  ClassLimit limit(plan);
  uint32_t count = 0;
  const auto hits = [&](size_t i, size_t j) {
    return suppresses<Geometry>(plan, candidates[i], candidates[j]);
  };
  const auto keeps = [&](size_t i) {
    if (count == plan.rules.kept_capacity || !limit.admits(candidates[i])) return false;
    kept[count++] = static_cast<uint32_t>(i);
    return true;
  };
  resolve_mask(candidates.size(), words, hits, keeps);
  return count;
}

}  // namespace keepbox::reference
