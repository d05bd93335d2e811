// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads values of one image and segment, of any type, for the templates of core/formula/score.h.
#pragma once

#include <algorithm>

#include "core/formula/score.h"
#include "core/reference/backend.h"

namespace keepbox::reference {

struct Values {
  const Rules& rules;
  const Segment& segment;
  const Tables tables;
  std::span<const TensorView> tensors;
  uint32_t image;

  Values(const Plan& plan, const Segment& of, std::span<const TensorView> from, uint32_t index)
      : rules(plan.rules), segment(of), tables(plan.tables()), tensors(from), image(index) {}

  bool has(FieldId id) const { return segment[id].present(); }
  float get(FieldId id, uint32_t anchor, uint32_t channel = 0) const {
    return load(tensors[static_cast<size_t>(segment[id].tensor)],
                segment.at(id, image, anchor, channel));
  }
};

static_assert(AnchorReader<Values>);

}  // namespace keepbox::reference
