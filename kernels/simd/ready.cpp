// SPDX-License-Identifier: LGPL-2.1-or-later
// Decode of end-to-end rows: most are below the threshold, and only their score is read.
#include <algorithm>

#include "kernels/simd/backend.h"
#include "kernels/simd/scores.h"

namespace keepbox::simd {

uint32_t decode_ready(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                      AnchorRange anchors, std::span<Candidate> out, Funnel& funnel) {
  const FieldReader from(plan, plan.layout.segments.front(), tensors, image);
  Collector candidates(from, out, funnel);
  const uint32_t end = std::min(anchors.end, anchors_of(from));
  funnel.anchors += end - std::min(anchors.first, end);
  for (uint32_t anchor = anchors.first; anchor < end; ++anchor) {
    const float score = from.get(FieldId::kScore, anchor);
    if (passes(score, plan.rules.lowest_threshold, plan.rules.contract))
      candidates.add(anchor, ready_score(from, anchor));
  }
  return candidates.count();
}

}  // namespace keepbox::simd
