// SPDX-License-Identifier: LGPL-2.1-or-later
// Collects the candidates of one image during decoding.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "core/formula/candidate.h"
#include "core/run/backend.h"

namespace keepbox {

/// @tparam Values outlives the collector.
template <AnchorReader Values>
class Collector {
 public:
  Collector(const Values& from, std::span<Candidate> out, Funnel& funnel)
      : from_(from), out_(out), funnel_(funnel) {}

  /// Adds the anchor as a candidate if its verdict passes; updates the funnel.
  void add(uint32_t anchor, ScoredClass scored) {
    const auto raw = [&] { return box_of(anchor); };
    Candidate candidate;
    const Outcome outcome = keepbox::try_candidate(from_, anchor, scored, raw, candidate);
    if (outcome == Outcome::kBelow) return;
    ++funnel_.above_threshold;
    if (outcome == Outcome::kNotFinite) ++funnel_.not_finite;
    if (outcome != Outcome::kCandidate) return;
    out_[count_++] = candidate;
    ++funnel_.after_class_filter;
  }

  /// Judges an anchor and adds it as a candidate if it passes.
  void add(uint32_t anchor) {
    visit_classes(from_, anchor, [&](ScoredClass scored) { add(anchor, scored); });
  }

  uint32_t count() const { return count_; }

 private:
  RawBox box_of(uint32_t anchor) {
    return from_.rules.boxes.bins > 1 ? means_of(anchor) : raw_box(from_, anchor);
  }

  /// Returns the box of distance bins, cached for the other classes of the anchor.
  [[gnu::noinline]] RawBox means_of(uint32_t anchor) {
    if (anchor != latest_) means_ = raw_box(from_, anchor);
    latest_ = anchor;
    return means_;
  }

  const Values& from_;
  std::span<Candidate> out_;
  Funnel& funnel_;
  uint32_t count_ = 0;
  RawBox means_ = {};
  uint32_t latest_ = std::numeric_limits<uint32_t>::max();  // the anchor that means_ belongs to
};

}  // namespace keepbox
