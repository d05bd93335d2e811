// SPDX-License-Identifier: LGPL-2.1-or-later
// Finishes keypoints and masks of an image.
#include "core/run/payload_stage.h"

namespace keepbox {

void PayloadStage::clear() {
  points_ = {};
  masks_.clear();
}

Status PayloadStage::run(const Plan& plan, const PayloadOutput& gathered,
                         std::span<const Detection> detections) {
  clear();
  if (plan.gather.masks.coefficients != 0)
    KB_TRY(finish_masks(plan, detections, gathered.places, gathered.masks, enlarged_, masks_));
  points_ = gathered.points;
  return {};
}

}  // namespace keepbox
