// SPDX-License-Identifier: LGPL-2.1-or-later
// Finishes what a runner computed for kept boxes: masks in frame resolution, and their areas.
#pragma once

#include <span>
#include <vector>

#include "core/base/scratch.h"
#include "core/formula/mask.h"
#include "core/run/backend.h"
#include "core/run/masks.h"

namespace keepbox {

/// Keypoints and masks of one image, from the output of a runner. Memory for masks grows as needed.
class PayloadStage {
 public:
  /// @param gathered stays valid until the next run. @param detections of the image, on the frame.
  /// On kNoResource there are neither keypoints nor masks.
  Status run(const Plan& plan, const PayloadOutput& gathered,
             std::span<const Detection> detections);

  /// Drops keypoints and masks.
  void clear();

  /// Returns the keypoints, PointRules::count per box. Valid until the next run.
  std::span<const Keypoint> points() const { return points_; }
  /// Returns one mask per box, or none at all. Valid until the next run.
  std::span<const Mask> masks() const { return masks_; }

 private:
  std::span<const Keypoint> points_;
  ScratchBuffer<uint8_t> enlarged_;
  std::vector<Mask> masks_;
};

/// Builds Mask values from the output of a backend. @param pixels buffer for masks in frame
/// resolution, grown as needed; the masks point into it or into `made`. Returns kNoResource, and no
/// masks, if it cannot grow.
Status finish_masks(const Plan& plan, std::span<const Detection> detections,
                    std::span<const MaskPlace> places, const MaskOutput& made,
                    ScratchBuffer<uint8_t>& pixels, std::vector<Mask>& out);

}  // namespace keepbox
