// SPDX-License-Identifier: LGPL-2.1-or-later
// Decode: from tensor numbers to candidates, one anchor after the other.
#include "core/reference/reference.h"

#include <algorithm>

#include "core/collect.h"

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

uint32_t decode(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                AnchorRange anchors, std::span<Candidate> out, Funnel& funnel) {
  const Source from(plan, tensors, image);
  Collector candidates(from, out, funnel);
  const uint32_t end = std::min(anchors.end, anchors_of(from));
  funnel.anchors = end - std::min(anchors.first, end);
  for (uint32_t anchor = anchors.first; anchor < end; ++anchor)
    candidates.take(anchor, judge(from, anchor));
  return candidates.count();
}

}  // namespace keepbox::reference
