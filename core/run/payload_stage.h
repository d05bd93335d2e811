// SPDX-License-Identifier: LGPL-2.1-or-later
// Finishes the payload of kept boxes: masks in frame resolution, and their areas.
#pragma once

#include <span>
#include <vector>

#include "core/base/scratch.h"
#include "core/formula/mask.h"
#include "core/run/backend.h"
#include "core/run/masks.h"

namespace keepbox {

/// The payload of one image, from the output of a runner. Memory for masks grows as needed.
class PayloadStage {
 public:
  /// @param output stays valid until the next run. @param detections of the image, on the frame.
  /// Leaves no payload on kNoResource.
  Status run(const Plan& plan, uint32_t image, const PayloadOutput& output,
             std::span<const Detection> detections);

  /// Drops the payload.
  void clear();

  /// Returns the values, plan.payload.count per box. Valid until the next run.
  std::span<const float> values() const { return values_; }
  /// Returns one mask per box, or none at all. Valid until the next run.
  std::span<const Mask> masks() const { return masks_; }

 private:
  std::span<const float> values_;
  ScratchBuffer<uint8_t> enlarged_;
  std::vector<Mask> masks_;
};

/// Builds Mask values from the output of a backend. @param pixels buffer for masks in frame
/// resolution, grown as needed; the masks point into it or into `made`. Returns kNoResource, and no
/// masks, if it cannot grow.
Status finish_masks(const Plan& plan, uint32_t image, std::span<const Detection> detections,
                    std::span<const MaskPlace> places, const MaskOutput& made,
                    ScratchBuffer<uint8_t>& pixels, std::vector<Mask>& out);

}  // namespace keepbox
