// SPDX-License-Identifier: LGPL-2.1-or-later
// How detectors encode boxes and scores, and what frameworks do with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/formula/numeric.h"

namespace keepbox {

// Codings of boxes, scores and keypoints: the conventions that formulas read.

/// Meaning of the four (or 4 x bins) values of a box. Codings with cells use the stride of the
/// level and the column and row of the cell plus cell_offset.
enum class BoxCoding : uint8_t {
  kCenterSize,    // cx cy w h
  kCorners,       // x1 y1 x2 y2
  kTopLeftSize,   // x1 y1 w h
  kGridExp,       // ((cx + cell) * stride, e^w * stride)               YOLOX, YuNet, CenterFace
  kGridSize,      // ((cx + cell) * stride, w * stride)                             CenterNet
  kGridPixels,    // (cx + cell * stride, w)                                        MediaPipe
  kGridSigmoid,   // s of all four; ((2s - 0.5 + cell) * stride, (2s)^2 * anchor)      YOLOv5
  kGridDarknet,   // s of cx cy; ((s * xy - (xy - 1) / 2 + cell) * stride, e^w * anchor)
                  //                                                                YOLOv3, v4
  kDistances,     // left top right bottom from the cell, in strides       SCRFD, YOLOv6, FCOS
  kDistanceBins,  // same, each the softmax mean of its bins          YOLOv8, GFL
  kPriorDelta,    // centre in prior sizes, log of w h               SSD, RetinaNet
};

inline constexpr size_t kBoxCodings = static_cast<size_t>(BoxCoding::kPriorDelta) + 1;

/// Needs of a coding in addition to the values of a box.
struct CodingTraits {
  bool cells = false;   // values are relative to grid cells
  bool sizes = false;   // sizes are relative to anchor sizes, which a family with cells lists
  bool priors = false;  // values are relative to prior boxes
  bool bins = false;    // each value is the mean of its bins
};

constexpr CodingTraits traits_of(BoxCoding coding) {
  switch (coding) {
    case BoxCoding::kCenterSize:
    case BoxCoding::kCorners:
    case BoxCoding::kTopLeftSize: return {};
    case BoxCoding::kGridExp:
    case BoxCoding::kGridSize:
    case BoxCoding::kGridPixels:
    case BoxCoding::kDistances: return {.cells = true};
    case BoxCoding::kGridSigmoid:
    case BoxCoding::kGridDarknet: return {.cells = true, .sizes = true};
    case BoxCoding::kDistanceBins: return {.cells = true, .bins = true};
    case BoxCoding::kPriorDelta: return {.priors = true};
  }
  return {};
}

/// True if box values are relative to grid cells.
constexpr bool has_cells(BoxCoding coding) { return traits_of(coding).cells; }

enum class Activation : uint8_t { kNone, kSigmoid, kSoftmax };

/// Formula for the score of (anchor, class), from objectness o and class score c.
enum class ScoreRule : uint8_t {
  kClass,          // c of the best class
  kProduct,        // o * c, then the best class                  YOLOv3, v5, v7
  kArgmaxFirst,    // best c, then o * c                          YOLOX
  kObjectness,     // o alone if there is one class, otherwise as kProduct   YOLOv7
  kGeometricMean,  // sqrt(o * c), each clamped to 0..1           YuNet, FCOS
};

/// Meaning of the first two values x y of a keypoint. Cells, strides and priors are those of boxes.
enum class PointCoding : uint8_t {
  kBox,         // like box corners: pixels, or 0..1
  kCells,       // (xy + cell) * stride                                     SCRFD, YuNet
  kCellPixels,  // xy + cell * stride                                       MediaPipe
  kPriorDelta,  // in prior sizes, from the prior's centre                     RetinaFace
  kInBox,       // from the box's upper left corner, in its width and height      CenterFace
};

struct AnchorSize {
  float width, height;  // input pixels
  friend constexpr bool operator==(const AnchorSize&, const AnchorSize&) = default;
};

// NMS contracts: the conventions in which the post-processing of detectors differs.

/// Methods of suppression.
enum class NmsMethod : uint8_t {
  kAuto,       // kGreedy, or kNone for models that need no NMS
  kGreedy,     // exact: a kept box removes the boxes below it that overlap it
  kNone,       // keep every box that passes the threshold
  kBitmask,    // same boxes as kGreedy, by an IoU mask of all pairs
  kSegmented,  // same boxes as kGreedy, by such a mask per class
  kFast,       // any better box removes the boxes below it that overlap it, kept or not
  // The following methods change boxes or scores, or use a measure other than IoU:
  kSoftLinear,    // overlaps beyond the threshold lower scores by their IoU
  kSoftGaussian,  // all overlaps lower scores, by e^(-IoU^2 / sigma)
  kWeighted,      // a kept box becomes the mean of itself and the boxes it suppresses
  kDiou,          // greedy by IoU minus the distance of the centres
  kMatrix,        // scores are lowered once, like kSoftGaussian, by the worst better box
  kMatrixLinear,  // likewise, as by kSoftLinear
  kMerge,         // greedy, then the mean of all boxes that overlap the kept one
};

/// Overlap measures of oriented boxes.
enum class OrientedOverlap : uint8_t {
  kPolygon,  // intersection / union of the rectangles
  kProbIou,  // of normal distributions in place of the boxes, as in Ultralytics
};

/// Comparisons and conventions of one NMS dialect. Boxes are ordered by (score descending, anchor
/// ascending, class ascending) unless later_first is set.
struct NmsContract {
  std::string_view name = "exact";
  std::string_view summary;       // one sentence for the manual
  bool score_inclusive = false;   // keep a score equal to the threshold
  bool iou_inclusive = false;     // suppress an IoU equal to the threshold
  bool plus_one = false;          // the width of a box is x2 - x1 + 1 pixels
  bool reorder_corners = false;   // corners may be any two opposite ones
  bool empty_overlap = false;     // two boxes of zero area overlap fully
  bool per_class_limit = false;   // max-detections is a limit per class
  bool class_agnostic = false;    // boxes of different classes suppress each other
  bool later_first = false;       // of equal scores the last anchor comes first
  bool clip_keypoints = false;    // clip keypoints to the frame
  bool drop_empty_masks = false;  // drop a box whose mask is empty
  float class_offset = 0;         // pixels that boxes are shifted by per class id; 0: compare ids
  float soft_factor = 1;          // factor of IoU^2 / sigma in the exponent of soft-gaussian
  uint32_t max_candidates = 0;    // default of pre_nms_top_k; 0: the method's limit
  OrientedOverlap oriented = OrientedOverlap::kPolygon;  // ignores plus_one, reorder_corners
                                                         // and empty_overlap
  NmsMethod method = NmsMethod::kGreedy;                 // default if the user sets none

  /// Returns the pixel added to x2 - x1, or 0.
  KB_HD constexpr float pixel() const { return plus_one ? 1.0f : 0.0f; }
  friend constexpr bool operator==(const NmsContract&, const NmsContract&) = default;
};

}  // namespace keepbox
