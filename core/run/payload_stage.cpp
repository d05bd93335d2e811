// SPDX-License-Identifier: LGPL-2.1-or-later
// Finishes the masks of an image, and passes other payloads on.
#include "core/run/payload_stage.h"

namespace keepbox {

void PayloadStage::clear() {
  values_ = {};
  masks_.clear();
}

Status PayloadStage::run(const Plan& plan, uint32_t image, const PayloadOutput& output,
                         std::span<const Detection> detections) {
  clear();
  if (plan.payload.has(Moves::kAsMask))
    KB_TRY(finish_masks(plan, image, detections, output.places, output.masks, enlarged_, masks_));
  values_ = output.values;
  return {};
}

}  // namespace keepbox
