// SPDX-License-Identifier: LGPL-2.1-or-later
// The candidates of one image while they are decoded, from whatever reads the numbers.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "core/backend.h"
#include "core/judge.h"

namespace keepbox {

/// @tparam Source as core/judge.h has it; outlives this.
template <class Source>
class Collector {
 public:
  Collector(const Source& from, std::span<Candidate> out, Funnel& funnel)
      : from_(from), out_(out), funnel_(funnel) {}

  /// Takes an anchor with that score and class, if it passes, and counts how far it came.
  void take(uint32_t anchor, Verdict verdict) {
    const auto raw = [&] { return box_of(anchor); };
    Candidate candidate;
    const Outcome outcome = keepbox::take(from_, anchor, verdict, raw, candidate);
    if (outcome == Outcome::kBelow) return;
    ++funnel_.above_threshold;
    if (outcome == Outcome::kNotFinite) ++funnel_.not_finite;
    if (outcome != Outcome::kCandidate) return;
    out_[count_++] = candidate;
    ++funnel_.after_class_filter;
  }

  /// Takes an anchor by its own numbers.
  void take(uint32_t anchor) {
    judge_each(from_, anchor, [&](Verdict verdict) { take(anchor, verdict); });
  }

  uint32_t count() const { return count_; }

 private:
  RawBox box_of(uint32_t anchor) {
    return from_.rules.boxes.bins > 1 ? means_of(anchor) : raw_box(from_, anchor);
  }

  /// Kept for the anchor's next class.
  [[gnu::noinline]] RawBox means_of(uint32_t anchor) {
    if (anchor != latest_) means_ = raw_box(from_, anchor);
    latest_ = anchor;
    return means_;
  }

  const Source& from_;
  std::span<Candidate> out_;
  Funnel& funnel_;
  uint32_t count_ = 0;
  RawBox means_ = {};
  uint32_t latest_ = std::numeric_limits<uint32_t>::max();  // whose means_ are: nobody's
};

}  // namespace keepbox
