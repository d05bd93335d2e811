// SPDX-License-Identifier: LGPL-2.1-or-later
// Methods of suppression, for any geometry (core/formula/geometry.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/formula/box.h"
#include "core/formula/geometry.h"
#include "core/plan/plan.h"
#include "core/run/workspace.h"

namespace keepbox::reference {

/// Candidate for comparison with many others: its shape is computed once.
template <BoxGeometry Geometry>
class PreparedBox {
 public:
  PreparedBox(const Plan& plan, const Candidate& of)
      : rules_(plan.rules),
        key_(of.key),
        shape_(shape_of<Geometry>(rules_.contract, of)),
        area_(Geometry::area(shape_, rules_.contract)) {}

  bool is_comparable(const Candidate& with) const {
    return same_class(rules_.contract, key_, with.key);
  }

  /// Returns measure(rules, better, its area, this, its area).
  template <class Measure>
  auto by_better(const Candidate& better, Measure measure) const {
    const auto shape = shape_of<Geometry>(rules_.contract, better);
    return measure(rules_, shape, Geometry::area(shape, rules_.contract), shape_, area_);
  }

  /// Returns measure(rules, this, its area, other, its area), with this as the better one.
  template <class Measure>
  auto to_other(const Candidate& other, Measure measure) const {
    const auto shape = shape_of<Geometry>(rules_.contract, other);
    return measure(rules_, shape_, area_, shape, Geometry::area(shape, rules_.contract));
  }

  /// True if this box suppresses another one, provided that it is better and kept.
  bool suppresses(const Candidate& other) const {
    return is_comparable(other) && to_other(other, hits<Geometry>);
  }
  bool is_suppressed_by(const Candidate& better) const {
    return is_comparable(better) && by_better(better, hits<Geometry>);
  }

 private:
  const Rules& rules_;
  const uint64_t key_;
  const typename Geometry::Shape shape_;
  const float area_;
};

/// Counts boxes per class, if there is a class limit.
class ClassLimit {
 public:
  explicit ClassLimit(const Plan& plan) : rules_(plan.rules) {}

  /// True if the limit of the candidate's class is reached.
  bool is_full(const Candidate& candidate) const {
    return rules_.limits_classes() && counts_[key_class(candidate.key)] == rules_.class_limit;
  }

  /// @pre !is_full(candidate)
  void count(const Candidate& candidate) { ++counts_[key_class(candidate.key)]; }

  /// Counts a box of the candidate's class; false if the limit is reached.
  bool admits(const Candidate& candidate) {
    if (is_full(candidate)) return false;
    count(candidate);
    return true;
  }

 private:
  const Rules& rules_;
  std::array<uint32_t, kMaxClasses> counts_{};
};

/// Keeps the candidates that pass, up to all limits.
/// @param passes called with (index, kept so far), unless the class is full.
/// @param when_kept called with (index).
template <class Passes, class WhenKept>
uint32_t keep(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
              const Stop& stop, Passes passes, WhenKept when_kept) {
  ClassLimit limit(plan);
  uint32_t count = 0;
  for (uint32_t i = 0; i < candidates.size() && count < plan.rules.kept_capacity; ++i) {
    if (stop.requested()) break;
    if (limit.is_full(candidates[i]) || !passes(i, kept.first(count))) continue;
    limit.count(candidates[i]);
    kept[count++] = i;
    when_kept(i);
  }
  return count;
}

template <class Passes>
uint32_t keep(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
              const Stop& stop, Passes passes) {
  return keep(plan, candidates, kept, stop, passes, [](uint32_t) {});
}

/// Suppresses greedily, as in the literature. @param is_suppressed called with (candidate, better
/// kept box).
template <BoxGeometry Geometry, class IsSuppressed>
uint32_t greedy_by(const Plan& plan, std::span<const Candidate> candidates,
                   std::span<uint32_t> kept, const Stop& stop, IsSuppressed is_suppressed) {
  return keep(plan, candidates, kept, stop, [&](uint32_t i, std::span<const uint32_t> before) {
    const PreparedBox<Geometry> own(plan, candidates[i]);
    return std::ranges::none_of(before,
                                [&](uint32_t k) { return is_suppressed(own, candidates[k]); });
  });
}

template <BoxGeometry Geometry>
uint32_t greedy(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
                const Stop& stop) {
  return greedy_by<Geometry>(
      plan, candidates, kept, stop,
      [](const auto& own, const Candidate& better) { return own.is_suppressed_by(better); });
}

/// Suppresses in one pass, as YOLACT: suppressed boxes suppress too, which loses boxes.
template <BoxGeometry Geometry>
uint32_t fast(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
              const Stop& stop) {
  return keep(plan, candidates, kept, stop, [&](uint32_t i, auto) {
    const PreparedBox<Geometry> own(plan, candidates[i]);
    return std::ranges::none_of(
        candidates.first(i), [&](const Candidate& better) { return own.is_suppressed_by(better); });
  });
}

inline bool bit(std::span<const uint64_t> words, size_t i) {
  return (words[i / kWordBits] >> (i % kWordBits) & 1) != 0;
}
inline void set_bit(std::span<uint64_t> words, size_t i) {
  words[i / kWordBits] |= uint64_t{1} << (i % kWordBits);
}

}  // namespace keepbox::reference
