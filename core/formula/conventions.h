// SPDX-License-Identifier: LGPL-2.1-or-later
// Codings of boxes, scores and keypoints: the conventions that formulas read.
#pragma once

#include <cstdint>

namespace keepbox {

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

/// True if box values are relative to grid cells.
constexpr bool has_cells(BoxCoding coding) {
  switch (coding) {
    case BoxCoding::kCenterSize:
    case BoxCoding::kCorners:
    case BoxCoding::kTopLeftSize:
    case BoxCoding::kPriorDelta: return false;
    default: return true;
  }
}

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

}  // namespace keepbox
