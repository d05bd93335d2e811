// SPDX-License-Identifier: LGPL-2.1-or-later
// Fast suppression: a candidate is dropped if any better one overlaps it. Comparisons start at the
// best candidate and stop at the first overlap, as in the reference: early if boxes are dense.
// Compiled once per instruction set.
#if defined(KEEPBOX_SIMD_FAST) == defined(HWY_TARGET_TOGGLE)
#ifdef KEEPBOX_SIMD_FAST
#undef KEEPBOX_SIMD_FAST
#else
#define KEEPBOX_SIMD_FAST
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/reference/nms.h"
#include "kernels/simd/spatial_grid-inl.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

/// Boxes by class, best first, with one row per class.
template <class Vectors>
class Rows {
 public:
  using Geometry = typename Vectors::Geometry;

  /// Reserves space for the candidates. @param scratch has nms_lanes() and nms_words() for that
  /// many.
  Rows(const Plan& plan, std::span<const Candidate> candidates, const NmsScratch& scratch)
      : rules_(plan.rules),
        lanes_{scratch.lanes.data(), scratch.lanes.size() / Vectors::kArrays},
        starts_(scratch.words.data()),
        ends_(starts_ + kMaxClasses) {
    size_t classes = 0;
    for (const Candidate& each : candidates) {
      for (; classes <= class_of(each); ++classes) ends_[classes] = 0;
      ++ends_[class_of(each)];
    }
    uint64_t at = 0;
    for (size_t id = 0; id < classes; ++id) {
      starts_[id] = at;
      at += std::exchange(ends_[id], at);
    }
  }

  /// True if any box in the candidate's row overlaps it.
  bool overlaps(const Candidate& candidate) const {
    const uint32_t id = class_of(candidate);
    const auto shape = shape_of<Geometry>(rules_.contract, candidate);
    return overlaps(shape, starts_[id], ends_[id]);
  }

  /// Appends the candidate to its row.
  void add(const Candidate& candidate) {
    const uint64_t at = ends_[class_of(candidate)]++;
    Vectors::put(rules_, shape_of<Geometry>(rules_.contract, candidate), lanes_, at);
    lanes_[Vectors::kArrays - 1][at] = 1;
  }

 private:
  static constexpr size_t kMaxAtOnce = 16;  // vectors: more would look beyond the first overlap

  uint32_t class_of(const Candidate& candidate) const {
    return rules_.contract.class_agnostic ? 0 : key_class(candidate.key);
  }

  /// Checks one vector, then twice as many each time.
  bool overlaps(const typename Geometry::Shape& shape, size_t first, size_t end) const {
    const Floats d;
    bool found = false;
    const auto mark = [&](size_t k, auto over) HWY_ATTR {
      const auto before = hn::FirstN(d, first > k ? first - k : 0);
      const auto ours = hn::AndNot(before, hn::FirstN(d, end - k));
      found = found || !hn::AllFalse(d, hn::And(over, ours));
    };
    size_t at = first & ~(hn::Lanes(d) - 1);
    for (size_t vectors = 1; at < end && !found; vectors = std::min(2 * vectors, kMaxAtOnce)) {
      const size_t next = at + vectors * hn::Lanes(d);
      Vectors::suppress_overlapped(rules_, shape, lanes_, at, std::min(next, end), mark);
      at = next;
    }
    return found;
  }

  const Rules& rules_;
  Lanes lanes_;
  uint64_t *starts_, *ends_;  // of rows, by class
};

/// Suppresses by class; a box dropped by a limit still suppresses others.
template <class Vectors>
uint32_t suppress_by_all(const Plan& plan, std::span<const Candidate> candidates,
                         std::span<uint32_t> kept, const NmsScratch& scratch) {
  Rows<Vectors> rows(plan, candidates, scratch);
  reference::ClassLimit limit(plan);
  uint32_t number = 0;
  for (uint32_t i = 0; i < candidates.size() && number < kept.size(); ++i) {
    const Candidate& each = candidates[i];
    if (scratch.stop.requested()) return 0;
    if (!limit.is_full(each) && !rows.overlaps(each)) {
      limit.count(each);
      kept[number++] = i;
    }
    rows.add(each);
  }
  return number;
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
