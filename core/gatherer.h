// SPDX-License-Identifier: LGPL-2.1-or-later
// Points and masks of an image's kept boxes, and the memory for them.
#pragma once

#include <span>
#include <vector>

#include "core/backend.h"
#include "core/room.h"

namespace keepbox {

/// Which candidates went into which box, where a method makes means.
struct Owners {
  std::span<const Candidate> candidates;  // in order
  std::span<const uint32_t> owner;        // of each, a candidate that was kept; empty: no means
  std::span<const uint32_t> kept;         // of each box, the candidate
};

/// For one image of a plan. Memory for masks grows with them; the rest is there from the start.
class Gatherer {
 public:
  /// @param on_host run() is to be called, and not take(). kNoResource when the memory for it is not
  /// to be had.
  static Result<Gatherer> create(const Plan& plan, bool on_host);

  /// Gathers on the host. kNoResource as above, and there are neither points nor masks then.
  /// @param detections of the image, on the frame.
  Status run(const Plan& plan, const Backend& backend, std::span<const TensorView> tensors,
           uint32_t image, std::span<const Detection> detections, const Owners& owners);

  /// Takes what a runner has gathered, which this then points into. The same.
  Status take(const Plan& plan, const Gathered& gathered, std::span<const Detection> detections);

  /// There are neither points nor masks any more.
  void clear();

  /// As many for each box as the plan says. Valid until the next run.
  std::span<const Keypoint> points() const { return points_; }
  /// One for each box, or none at all. The same.
  std::span<const Mask> masks() const { return masks_; }

 private:
  void gather_points(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                     std::span<const Detection> detections, const Owners& owners);
  Status make_masks(const Plan& plan, const Backend& backend, std::span<const TensorView> tensors,
                    uint32_t image, std::span<const Detection> detections);

  Room<Keypoint> own_points_, one_;  // of all boxes; of one that goes into a mean
  std::span<const Keypoint> points_;
  std::vector<MaskPlace> places_;
  Room<float> factors_, numbers_;
  Room<uint8_t> inside_, enlarged_;
  std::vector<Mask> masks_;
};

/// Masks as callers have them, from what a backend made. @param pixels room for those of the frame's
/// resolution, which grows as it has to; the masks point into it, or into `made`. kNoResource, and no
/// masks, where it cannot.
Status finish_masks(const Plan& plan, std::span<const Detection> detections,
                    std::span<const MaskPlace> places, const MaskRoom& made,
                    Room<uint8_t>& pixels, std::vector<Mask>& out);

}  // namespace keepbox
