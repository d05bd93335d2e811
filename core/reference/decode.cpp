// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes anchors to candidates, one after the other.
#include <algorithm>

#include "core/reference/values.h"
#include "core/run/collect.h"

namespace keepbox::reference {

uint32_t decode(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                AnchorRange anchors, std::span<Candidate> out, Funnel& funnel) {
  uint32_t count = 0;
  for (const Segment& segment : plan.layout.segments) {
    const Values from(plan, segment, tensors, image);
    const uint32_t first = std::max(anchors.first, segment.first);
    const uint32_t end = std::min({anchors.end, segment.first + segment.count, anchors_of(from)});
    if (end <= first) continue;
    Collector candidates(from, out.subspan(count), funnel);
    for (uint32_t anchor = first; anchor < end; ++anchor) candidates.add(anchor);
    funnel.anchors += end - first;
    count += candidates.count();
  }
  return count;
}

}  // namespace keepbox::reference
