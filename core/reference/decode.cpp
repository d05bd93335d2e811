// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes candidates and selects the best ones.

#include <algorithm>
#include <array>

#include "core/reference/backend.h"
#include "core/run/host_runner.h"

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

uint32_t cut(const Rules& rules, std::span<Candidate> ordered) {
  const auto limit = static_cast<uint32_t>(std::min<size_t>(rules.pre_nms_top_k, ordered.size()));
  if (rules.pre_nms_class_top_k == 0) return limit;
  std::array<uint32_t, kMaxClasses> of_class{};
  uint32_t count = 0;
  for (size_t i = 0; i < ordered.size() && count < limit; ++i)
    if (of_class[key_class(ordered[i].key)]++ < rules.pre_nms_class_top_k)
      ordered[count++] = ordered[i];
  return count;
}

uint32_t select(const Plan& plan, std::span<const Candidate> candidates, std::span<SortSlot>,
                std::span<Candidate> ordered) {
  std::ranges::copy(candidates, ordered.begin());
  std::ranges::sort(ordered.first(candidates.size()), {}, &Candidate::key);
  return cut(plan.rules, ordered.first(candidates.size()));
}

}  // namespace keepbox::reference
