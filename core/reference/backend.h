// SPDX-License-Identifier: LGPL-2.1-or-later
// The scalar backend, which specifies what every backend returns.
#pragma once

#include "core/formula/mask.h"
#include "core/formula/score.h"
#include "core/run/backend.h"

namespace keepbox::reference {

Backend backend();

uint32_t decode(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                AnchorRange anchors, std::span<Candidate> out, Funnel& funnel);
uint32_t select(const Plan& plan, std::span<const Candidate> candidates, std::span<SortSlot> slots,
                std::span<Candidate> ordered);
uint32_t nms(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
             const NmsScratch& scratch);

void payload(const Plan& plan, std::span<const TensorView> tensors, uint32_t image, uint32_t anchor,
             std::span<float> out);

void masks(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
           std::span<const float> factors, std::span<const MaskRect> places, const MaskOutput& out);
void enlarge(const Plan& plan, uint32_t image, const MaskRects& places, const float* sums,
             uint32_t* bits);
/// Enlarges one mask.
void enlarge(const MaskAxis& columns, const MaskAxis& rows, const MaskRect& from, const float* sums,
             const MaskRect& place, uint32_t* bits);

/// Moves the candidates in key order that pass the limits to the front, and returns their number.
uint32_t cut(const Rules& rules, std::span<Candidate> ordered);

Result<std::unique_ptr<InputMaker>> input_maker(const InputPlan& plan);
Result<std::unique_ptr<CropMaker>> crop_maker(const CropPlan& plan);

// Values of one image and segment, of any type, for the templates of core/formula/score.h.

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
