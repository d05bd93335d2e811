// SPDX-License-Identifier: LGPL-2.1-or-later
// Methods of suppression, for any geometry (core/formula/geometry.h).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/formula/box.h"
#include "core/formula/geometry.h"
#include "core/formula/rescore.h"
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

// Exact suppression by words of an IoU mask: of all boxes, or class by class.

/// Resolves the IoU mask of n boxes, best first, one word of its columns at a time: the whole mask
/// would take n * n bits, and the columns after the last kept box are not needed.
/// @param kept_bits one cleared bit per box; set for kept boxes; only their rows are read.
/// @param row row(i) returns a function of j that is true if box i suppresses box j.
/// @param keeps keeps(i) is true if the unsuppressed box i is kept. @param full full() is true if
/// no more boxes are kept.
template <class Row, class Keeps, class Full>
void resolve_mask(size_t n, std::span<uint64_t> kept_bits, Row row, Keeps keeps, Full full) {
  for (size_t first = 0; first < n && !full(); first += kWordBits) {
    const size_t end = std::min(first + kWordBits, n);
    uint64_t suppressed = 0;
    const auto suppress_from = [&](size_t i, size_t from) {
      const auto hits = row(i);
      for (size_t j = from; j < end; ++j)
        if ((suppressed >> (j - first) & 1) == 0) suppressed |= uint64_t{hits(j)} << (j - first);
    };
    for (size_t word = 0; word < first / kWordBits; ++word)
      for (uint64_t rest = kept_bits[word]; rest != 0; rest &= rest - 1)
        suppress_from(word * kWordBits + static_cast<size_t>(std::countr_zero(rest)), first);
    for (size_t i = first; i < end; ++i) {
      if ((suppressed >> (i - first) & 1) != 0 || !keeps(i)) continue;
      set_bit(kept_bits, i);
      suppress_from(i, i + 1);
    }
  }
}

/// Suppresses by words of a bit mask, like Faster R-CNN's code. @pre scratch.words.size() >=
/// nms_words(plan)
template <BoxGeometry Geometry>
uint32_t bitmask(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
                 const NmsScratch& scratch) {
  const std::span<uint64_t> words = scratch.words;
  std::ranges::fill(words, 0);
  ClassLimit limit(plan);
  uint32_t count = 0;
  const auto row = [&](size_t i) {
    return [&, own = PreparedBox<Geometry>(plan, candidates[i])](size_t j) {
      return own.suppresses(candidates[j]);
    };
  };
  const auto keeps = [&](size_t i) {
    if (count == plan.rules.kept_capacity || !limit.admits(candidates[i])) return false;
    kept[count++] = static_cast<uint32_t>(i);
    return true;
  };
  resolve_mask(candidates.size(), words, row, keeps,
               [&] { return count == plan.rules.kept_capacity || scratch.stop.requested(); });
  return count;
}

/// Class and position in key order, in one word that sorts by both.
struct ClassPosition {
  uint64_t word;

  ClassPosition(uint32_t class_id, size_t place) : word(uint64_t{class_id} << 32 | place) {}
  explicit ClassPosition(uint64_t from) : word(from) {}
  uint32_t place() const { return static_cast<uint32_t>(word); }
  uint32_t class_id() const { return static_cast<uint32_t>(word >> 32); }
};

/// Sets the bits of the positions kept in a segment.
template <BoxGeometry Geometry>
void resolve_segment(const Plan& plan, std::span<const Candidate> candidates,
                     std::span<const uint64_t> segment, std::span<uint64_t> kept_bits,
                     ClassLimit& limit, std::span<uint64_t> survivors, const Stop& stop) {
  std::ranges::fill(kept_bits, 0);
  const auto at = [&](size_t i) -> const Candidate& {
    return candidates[ClassPosition(segment[i]).place()];
  };
  const auto row = [&](size_t i) {
    return
        [&, own = PreparedBox<Geometry>(plan, at(i))](size_t j) { return own.suppresses(at(j)); };
  };
  // The class limit is applied here because a dropped box must not suppress boxes of other classes
  // in a shared segment. Boxes beyond kept_capacity are not needed.
  uint32_t count = 0;
  const auto keeps = [&](size_t i) {
    if (count == plan.rules.kept_capacity || !limit.admits(at(i))) return false;
    ++count;
    const uint32_t place = ClassPosition(segment[i]).place();
    set_bit(survivors, place);
    return true;
  };
  resolve_mask(segment.size(), kept_bits, row, keeps,
               [&] { return count == plan.rules.kept_capacity || stop.requested(); });
}

/// Sorts by class, resolves the segment of each class, and restores the order. @pre
/// scratch.words.size() >= nms_words(plan)
template <BoxGeometry Geometry>
uint32_t segmented(const Plan& plan, std::span<const Candidate> candidates,
                   std::span<uint32_t> kept, const NmsScratch& scratch) {
  const std::span<uint64_t> words = scratch.words;
  const size_t n = candidates.size(), bits = bit_words(n);
  const auto members = words.first(n), kept_bits = words.subspan(n, bits),
             survivors = words.subspan(n + bits, bits);
  const bool agnostic = plan.rules.contract.class_agnostic;
  for (size_t i = 0; i < n; ++i)
    members[i] = ClassPosition(agnostic ? 0 : key_class(candidates[i].key), i).word;
  std::ranges::sort(members);
  std::ranges::fill(survivors, 0);
  ClassLimit limit(plan);
  const auto class_of = [](uint64_t word) { return ClassPosition(word).class_id(); };
  for (size_t first = 0; first < n;) {
    const auto rest = members.subspan(first);
    const auto next = std::ranges::upper_bound(rest, class_of(rest[0]), {}, class_of);
    const auto size = static_cast<size_t>(next - rest.begin());
    resolve_segment<Geometry>(plan, candidates, rest.first(size), kept_bits.first(bit_words(size)),
                              limit, survivors, scratch.stop);
    first += size;
  }
  return keep(plan, candidates, kept, scratch.stop,
              [&](uint32_t i, auto) { return bit(survivors, i); });
}

// Distance-IoU: greedy, but the distance of centres reduces the overlap (Zheng et al.).

template <BoxGeometry Geometry>
uint32_t diou(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
              const Stop& stop) {
  return greedy_by<Geometry>(
      plan, candidates, kept, stop, [](const auto& own, const Candidate& better) {
        return own.is_comparable(better) && own.by_better(better, hits_by_diou<Geometry>);
      });
}

// Matrix suppression: each score is lowered once, by the better box with the strongest effect,
// which is weaker the more that box is suppressed itself (SOLOv2).

/// Calls visit(i, overlap) for the candidates before j of the same class.
template <BoxGeometry Geometry, class Visit>
void each_better(const Plan& plan, std::span<const Candidate> candidates, size_t j, Visit visit) {
  const PreparedBox<Geometry> own(plan, candidates[j]);
  for (size_t i = 0; i < j; ++i)
    if (own.is_comparable(candidates[i]))
      visit(i, own.by_better(candidates[i], overlap_of<Geometry>));
}

/// @pre scratch.words.size() >= nms_words(plan)
template <BoxGeometry Geometry>
uint32_t matrix(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
                const NmsScratch& scratch) {
  const Rules& rules = plan.rules;
  const auto max_overlaps = scratch.words.first(candidates.size());  // maximum overlaps, as bits
  for (size_t j = 0; j < candidates.size(); ++j) {
    if (scratch.stop.requested()) return 0;
    float own = 0;
    Decay decay(rules);
    each_better<Geometry>(plan, candidates, j, [&](size_t i, float overlap) {
      own = std::max(own, overlap);
      decay.add(rules, overlap, float_from_bits(static_cast<uint32_t>(max_overlaps[i])));
    });
    max_overlaps[j] = float_bits(own);
    uint64_t& key = candidates[j].key;
    key = with_score(key, decay.of(rules, key_score(key)));
  }
  const auto key_of = [&](uint64_t place) { return candidates[place].key; };
  const auto order = max_overlaps;  // from here on indices sorted by new score
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, key_of);
  ClassLimit limit(plan);
  uint32_t count = 0;
  for (size_t i = 0; i < order.size() && count < rules.kept_capacity; ++i)
    if (still_passes(rules, plan.tables(), key_of(order[i])) && limit.admits(candidates[order[i]]))
      kept[count++] = static_cast<uint32_t>(order[i]);
  return count;
}

// Merging suppression: greedy, then each box becomes the mean of all candidates that it overlaps,
// like in YOLOv5.

/// Computes the means in place: kept boxes do not overlap each other, so that no mean contains
/// another kept box.
template <BoxGeometry Geometry>
uint32_t merge(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
               const Stop& stop) {
  const uint32_t count = greedy<Geometry>(plan, candidates, kept, stop);
  for (const uint32_t k : kept.first(count)) {
    if (stop.requested()) break;
    const PreparedBox<Geometry> own(plan, candidates[k]);
    WeightedMean mean;
    for (uint32_t j = 0; j < candidates.size(); ++j)
      if (j == k ||
          (own.suppresses(candidates[j]) && !std::ranges::binary_search(kept.first(count), j)))
        mean.add(plan.rules.contract, candidates[j].box, key_score(candidates[j].key));
    candidates[k].box = mean.mean(candidates[k].box);
  }
  return count;
}

// Soft suppression: a kept box lowers the scores of boxes that it overlaps (Bodla et al.).

/// Lowers the scores of boxes that a kept box overlaps, and returns the best remaining one, or
/// candidates.size(). @param dropped one bit per candidate that is kept or dropped; set for those
/// that fall below their threshold, and for those of the box's class if it is full.
template <BoxGeometry Geometry>
size_t soften(const Plan& plan, std::span<Candidate> candidates, size_t kept, bool full,
              std::span<uint64_t> dropped) {
  const Rules& rules = plan.rules;
  const uint32_t own_class = key_class(candidates[kept].key);
  const PreparedBox<Geometry> better(plan, candidates[kept]);
  size_t best = candidates.size();
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (bit(dropped, i)) continue;
    uint64_t& key = candidates[i].key;
    if (better.is_comparable(candidates[i])) {
      const float over = better.to_other(candidates[i], overlap_of<Geometry>);
      if (over > 0) key = with_score(key, softened(rules, key_score(key), over));
      if (over > 0 && !still_passes(rules, plan.tables(), key)) set_bit(dropped, i);
    }
    if (full && key_class(key) == own_class) set_bit(dropped, i);
    if (!bit(dropped, i) && (best == candidates.size() || key < candidates[best].key)) best = i;
  }
  return best;
}

/// @pre scratch.words.size() >= nms_words(plan)
template <BoxGeometry Geometry>
uint32_t soft(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
              const NmsScratch& scratch) {
  const std::span<uint64_t> words = scratch.words;
  std::ranges::fill(words, 0);
  ClassLimit limit(plan);
  uint32_t count = 0;
  size_t best = 0;  // candidates arrive in order
  while (count < plan.rules.kept_capacity && best < candidates.size() &&
         !scratch.stop.requested() &&
         limit.admits(candidates[best])) {  // always, except for a limit of 0
    set_bit(words, best);
    kept[count++] = static_cast<uint32_t>(best);
    best = soften<Geometry>(plan, candidates, best, limit.is_full(candidates[best]), words);
  }
  return count;
}

// Weighted suppression: a box becomes the mean of itself and the boxes it suppresses, like in
// MediaPipe. Its score stays.

/// @pre scratch.words.size() >= nms_words(plan)
template <BoxGeometry Geometry>
uint32_t weighted(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
                  const NmsScratch& scratch) {
  const std::span<uint64_t> words = scratch.words;
  std::ranges::fill(words, 0);  // one bit per candidate that was merged into a box
  std::ranges::fill(scratch.owners, UINT32_MAX);
  return keep(
      plan, candidates, kept, scratch.stop, [&](uint32_t i, auto) { return !bit(words, i); },
      [&](uint32_t i) {
        Candidate& best = candidates[i];
        const PreparedBox<Geometry> own(plan, best);
        WeightedMean mean;
        for (size_t j = i; j < candidates.size(); ++j) {
          const Candidate& each = candidates[j];
          if (j != i && (bit(words, j) || !own.suppresses(each))) continue;
          mean.add(plan.rules.contract, each.box, key_score(each.key));
          set_bit(words, j);
          if (!scratch.owners.empty()) scratch.owners[j] = i;
        }
        best.box = mean.mean(best.box);
      });
}

// Dispatch to the methods of suppression.

/// Implements Backend::nms for one geometry.
template <BoxGeometry Geometry>
uint32_t suppress(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
                  const NmsScratch& scratch) {
  const Stop& stop = scratch.stop;
  switch (plan.rules.method) {
    case NmsMethod::kNone: return keep(plan, candidates, kept, stop, [](auto...) { return true; });
    case NmsMethod::kBitmask: return bitmask<Geometry>(plan, candidates, kept, scratch);
    case NmsMethod::kSegmented: return segmented<Geometry>(plan, candidates, kept, scratch);
    case NmsMethod::kFast: return fast<Geometry>(plan, candidates, kept, stop);
    case NmsMethod::kSoftLinear:
    case NmsMethod::kSoftGaussian: return soft<Geometry>(plan, candidates, kept, scratch);
    case NmsMethod::kWeighted: return weighted<Geometry>(plan, candidates, kept, scratch);
    case NmsMethod::kDiou: return diou<Geometry>(plan, candidates, kept, stop);
    case NmsMethod::kMatrix:
    case NmsMethod::kMatrixLinear: return matrix<Geometry>(plan, candidates, kept, scratch);
    case NmsMethod::kMerge: return merge<Geometry>(plan, candidates, kept, stop);
    case NmsMethod::kAuto:
    case NmsMethod::kGreedy: break;
  }
  return greedy<Geometry>(plan, candidates, kept, stop);
}

}  // namespace keepbox::reference
