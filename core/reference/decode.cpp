// SPDX-License-Identifier: LGPL-2.1-or-later
// Decode: from tensor numbers to candidates, one anchor after the other.
#include "core/reference/reference.h"

#include <algorithm>

#include "core/judge.h"

namespace keepbox::reference {
namespace {

/// Tensor numbers of one image.
struct Source {
  const Rules& rules;
  const Layout& layout;
  const Tables tables;
  std::span<const TensorView> tensors;
  uint32_t image;

  Source(const Plan& plan, std::span<const TensorView> from, uint32_t index)
      : rules(plan.rules), layout(plan.layout), tables(plan.tables()), tensors(from), image(index) {}

  bool has(Part part) const { return layout[part].present(); }
  float get(Part part, uint32_t anchor, uint32_t channel = 0) const {
    const Field& field = layout[part];
    return load(tensors[static_cast<size_t>(field.tensor)], field.at(image, anchor, channel));
  }
};

}  // namespace

Verdict judge(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
              uint32_t anchor) {
  return keepbox::judge(Source(plan, tensors, image), anchor);
}

void Collector::take(uint32_t anchor, Verdict verdict) {
  const Source from(plan_, tensors_, image_);
  const auto raw = [&] {
    return RawBox{{from.get(Part::kBox, anchor, 0), from.get(Part::kBox, anchor, 1),
                   from.get(Part::kBox, anchor, 2), from.get(Part::kBox, anchor, 3)}};
  };
  Candidate candidate;
  const Outcome outcome = keepbox::take(from, anchor, verdict, raw, candidate);
  if (outcome == Outcome::kBelow) return;
  ++funnel_.above_threshold;
  if (outcome == Outcome::kNotFinite) ++funnel_.not_finite;
  if (outcome != Outcome::kCandidate) return;
  out_[count_++] = candidate;
  funnel_.after_class_filter = count_;
}

uint32_t decode(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                AnchorRange anchors, std::span<Candidate> out, Funnel& funnel) {
  Collector candidates(plan, tensors, image, out, funnel);
  const uint32_t end = std::min(anchors.end, anchors_of(Source(plan, tensors, image)));
  funnel.anchors = end - std::min(anchors.first, end);
  for (uint32_t anchor = anchors.first; anchor < end; ++anchor)
    candidates.take(anchor, judge(plan, tensors, image, anchor));
  return candidates.count();
}

}  // namespace keepbox::reference
