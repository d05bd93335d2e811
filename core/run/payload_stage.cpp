// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes masks of their bits, and passes other payloads on.
#include "core/run/payload_stage.h"

#include "core/run/masks.h"

namespace keepbox {

void PayloadStage::clear() {
  values_ = {};
  masks_.clear();
}

void PayloadStage::run(const Plan& plan, uint32_t image, const PayloadOutput& output) {
  clear();
  for (const MaskRect& place : output.places)
    masks_.push_back(placed_mask(plan, image, place, output.bits));
  values_ = output.values;
}

}  // namespace keepbox
