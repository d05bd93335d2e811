// SPDX-License-Identifier: LGPL-2.1-or-later
// Keypoints and masks of an image's kept boxes, and their memory.
#pragma once

#include <span>
#include <vector>

#include "core/base/scratch.h"
#include "core/formula/mask.h"
#include "core/run/backend.h"
#include "core/run/masks.h"

namespace keepbox {

/// Assignment of candidates to kept boxes, for methods that compute means.
struct Owners {
  std::span<const Candidate> candidates;  // in key order
  std::span<const uint32_t> owner;        // index of the kept candidate, for each; empty: no means
  std::span<const uint32_t> kept;         // index of the candidate, per box
};

/// Computes keypoints and masks for one image of a plan. Memory for masks grows as needed;
/// everything else is allocated by create().
class PayloadStage {
 public:
  /// @param on_host true to call run(), false to call take(). Returns kNoResource if memory is not
  /// available.
  static Result<PayloadStage> create(const Plan& plan, bool on_host);

  /// Computes on the host. On kNoResource there are neither keypoints nor masks.
  /// @param detections of the image, on the frame.
  Status run(const Plan& plan, const Backend& backend, std::span<const TensorView> tensors,
             uint32_t image, std::span<const Detection> detections, const Owners& owners);

  /// Takes the output of a runner, which must stay valid. On kNoResource there are no masks.
  Status take(const Plan& plan, const PayloadOutput& gathered,
              std::span<const Detection> detections);

  /// Drops keypoints and masks.
  void clear();

  /// Returns the keypoints, PointRules::count per box. Valid until the next run.
  std::span<const Keypoint> points() const { return points_; }
  /// Returns one mask per box, or none at all. Valid until the next run.
  std::span<const Mask> masks() const { return masks_; }

 private:
  void gather_points(const Plan& plan, const Backend& backend, std::span<const TensorView> tensors,
                     uint32_t image, std::span<const Detection> detections, const Owners& owners);
  Status make_masks(const Plan& plan, const Backend& backend, std::span<const TensorView> tensors,
                    uint32_t image, std::span<const Detection> detections);

  ScratchBuffer<Keypoint> own_points_, one_;  // of all boxes; of one box that is merged into a mean
  std::span<const Keypoint> points_;
  std::vector<MaskPlace> places_;
  ScratchBuffer<float> factors_, numbers_;
  ScratchBuffer<uint8_t> inside_, enlarged_;
  std::vector<Mask> masks_;
};

/// Builds Mask values from the output of a backend. @param pixels buffer for masks in frame
/// resolution, grown as needed; the masks point into it or into `made`. Returns kNoResource, and no
/// masks, if it cannot grow.
Status finish_masks(const Plan& plan, std::span<const Detection> detections,
                    std::span<const MaskPlace> places, const MaskOutput& made,
                    ScratchBuffer<uint8_t>& pixels, std::vector<Mask>& out);

}  // namespace keepbox
