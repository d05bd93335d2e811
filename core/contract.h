// SPDX-License-Identifier: LGPL-2.1-or-later
// What "the same boxes" means: the rules on which detectors' post-processing codes disagree.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/numeric.h"

namespace keepbox {

/// How overlapping boxes are thinned out.
enum class NmsMethod : uint8_t {
  kAuto,       // kGreedy, or kNone for models that did it themselves
  kGreedy,     // exact: a box goes when a kept box before it overlaps it
  kNone,       // keep every box that passes the threshold
  kBitmask,    // the boxes of kGreedy, by an IoU mask of all pairs
  kSegmented,  // the boxes of kGreedy, by such a mask for each class
  kFast,       // a box goes when any box before it overlaps it, kept or not
  // From here on what is kept gets other boxes or scores, or is chosen by another measure:
  kSoftLinear,    // overlaps beyond the threshold lower scores by their IoU
  kSoftGaussian,  // all overlaps do, by e^(-IoU^2 / sigma)
  kWeighted,      // a box becomes the mean of the boxes that it suppresses and its own
  kDiou,          // greedy by IoU less the distance of centres
  kMatrix,        // scores fall once, by the worst of all better boxes, as kSoftGaussian's
  kMatrixLinear,  // as kSoftLinear's
  kMerge,         // greedy, then the mean of all boxes that overlap one
};

/// How much two turned boxes overlap.
enum class TurnedOverlap : uint8_t {
  kPolygon,  // intersection / union of the rectangles
  kProbIou,  // of normal distributions in their place, as Ultralytics does
};

/// The comparisons and conventions of one NMS dialect. Boxes are in the order (score descending,
/// anchor ascending, class ascending), but for later_first.
struct NmsContract {
  std::string_view name = "exact";
  std::string_view summary;      // a sentence for the manual
  bool score_inclusive = false;  // keep a score equal to the threshold
  bool iou_inclusive = false;    // suppress an IoU equal to the threshold
  bool plus_one = false;         // a box from x1 to x2 is x2 - x1 + 1 pixels wide
  bool reorder_corners = false;  // x1 > x2 means the same box as x2 > x1
  bool empty_overlap = false;    // two boxes without area between them overlap wholly
  bool per_class_limit = false;  // max-detections counts for each class on its own
  bool class_agnostic = false;   // boxes of different classes suppress each other
  bool later_first = false;      // of equal scores the highest anchor comes first
  bool clip_points = false;      // keypoints end at the frame's edges
  bool drop_empty_masks = false; // a box whose mask has no pixel goes
  float class_offset = 0;        // pixels from a class's boxes to those of the next, by which all
                                 // are moved and then compared; 0: classes are compared by id
  float soft_part = 1;  // of IoU^2 / sigma that is soft-gaussian's exponent
  uint32_t most_candidates = 0;  // that reach suppression where pre_nms_top_k is 0; 0: all, or as
                                 // many as the method takes
  TurnedOverlap turned = TurnedOverlap::kPolygon;  // which have no added pixels, corners in any
                                                   // order or rules for empty ones
  NmsMethod method = NmsMethod::kGreedy;  // where the user sets none

  /// What is added to x2 - x1.
  KB_HD constexpr float pixel() const { return plus_one ? 1.0f : 0.0f; }
};

/// The named contracts, "exact" first.
std::span<const NmsContract> contracts();

/// The contract of that name, or nullptr.
const NmsContract* find_contract(std::string_view name);

}  // namespace keepbox
