// SPDX-License-Identifier: LGPL-2.1-or-later
// A second, deliberately different implementation of the kernels, with bugs that can be planted.
#pragma once

#include "core/formula/mask.h"
#include "core/run/backend.h"
#include "core/run/payload.h"

namespace keepbox::test {

enum class Bug {
  kNone,
  kIouInclusive,   // >= at the IoU threshold
  kFusedUnion,     // fused multiply-add in the union
  kProductTest,    // common > threshold * union instead of the division
  kPlusOne,        // a pixel added to every width
  kNoReorder,      // inverted corners stay inverted
  kClassIgnored,   // classes suppress each other
  kClassCompared,  // classes do not suppress each other although they should
  kSuppressedToo,  // a suppressed box suppresses others
  kTieHighAnchor,  // equal scores: the later anchor first
  kNegativeZero,   // -0 after +0
  kTopKOffByOne,
  kLimitOffByOne,      // one box more than max-detections
  kScoreInclusive,     // >= at the score threshold
  kNanScore,           // !(score < threshold)
  kInfinityKept,       // coordinates are not checked
  kLastClass,          // the last of equal classes
  kArgmaxFirst,        // the class chosen before the product, always
  kProductFirst,       // the product before the class, always
  kFilterFirst,        // filtered classes are left out of the argmax
  kClassThreshold,     // class thresholds are ignored
  kTailDropped,        // anchors beyond a multiple of 8
  kAlignedLoads,       // pointers rounded down to 16 bytes
  kGridTransposed,     // columns used as rows
  kPriorSwapped,       // x and y of deltas exchanged
  kSoftmaxOverflow,    // the largest logit is not subtracted
  kFirstImageOnly,     // every image of a batch is the first
  kMaskShifted,        // bitmask: rows are one bit off beyond their own word
  kSegmentShort,       // segmented: a class's last box is outside its segment
  kFastByKept,         // fast: only kept boxes suppress
  kLimitSuppresses,    // a box beyond its class's limit suppresses others
  kZeroPoint,          // zero point of quantised values ignored
  kLogitUnlimited,     // logits are not clamped
  kMeanByProduct,      // product instead of its square root
  kLoneClassCounts,    // the score of a single class is multiplied
  kPeaksOfRow,         // peaks are compared with their row only
  kNoPeaks,            // peaks are not compared
  kOneLabel,           // only the best class although all count
  kAnyImage,           // rows of other images count
  kBinsFromOne,        // bins count from 1
  kCellCentre,         // cells begin at their centre, Darknet's centres are not scaled
  kDeltaUnlimited,     // log sizes are not limited
  kRowForIndex,        // a row's own box instead of the one it refers to
  kOffsetForgotten,    // classes compared by id instead of by offset
  kTieForgotten,       // always the first anchor of equal scores
  kSoftInOrder,        // soft: chosen by the original scores
  kSoftPartForgotten,  // soft: the exponent of one contract for all
  kSoftKeepsAll,       // soft, matrix: scores below the threshold stay
  kWeightedByAll,      // weighted: boxes are part of several means
  kMergedByRest,       // merge: only suppressed boxes are part of means, and only once
  kDiouAsIou,          // diou: distances are ignored
  kMatrixUnweighed,    // matrix: suppressed boxes suppress as much as others
  kClassTopKOfAll,     // class-top-k counts all classes together
  kClassCutLate,       // class limits are applied after the overall limit
  kSizeExclusive,      // a box of the minimum size is dropped
  kSizeOfFirst,        // all classes have the limits of the first
  kRegionEdge,         // a centre on a region's right or lower edge is inside
  kRegionInside,       // a box that touches a region's right or lower edge is not inside
  kFilteredFirst,      // filters before suppression
  kPointsInOrder,      // points are those of another anchor
  kPointsPlain,        // keypoints are not relative to cells, priors or boxes
  kPointsClipped,      // all keypoints are clipped to the frame
  kPointsUnclipped,    // keypoints are never clipped to the frame
  kMaskWider,          // masks begin one pixel early
  kMaskFused,          // fused multiply-add in a mask's sums
  kMaskNearest,        // frame masks take the nearest prototype pixel
  kMaskBeyond,         // frame masks use sums outside of the box's rectangle
  kMaskMixFused,       // fused multiply-add in the interpolation of frame masks
  kMaskOfFirst,        // the prototypes of a batch's first image
  kAngleForgotten,     // oriented boxes are upright
  kOtherOverlap,       // polygons instead of distributions, and vice versa
  kOrientedClipped,    // oriented boxes are clipped like upright ones
  kAngleKept,          // of oriented boxes if the axes have different scales
  kFirstTile,          // every tile has the place of the first
  kCount,
};

/// Returns the backend with one bug. Not thread-safe: the bug is global.
Backend second_backend(Bug bug = Bug::kNone);

/// Returns the kernels with the current bug.
const HostKernels& second_kernels();
bool is_planted(Bug bug);
/// Returns the map of an image to the frame.
const Letterbox& map_of(const Plan& plan, uint32_t image);

/// Computes the payload of boxes by independent code.
struct SecondPayload {
  std::vector<float> values;
  MaskRects places;
  std::vector<uint32_t> bits;
};
SecondPayload second_payload(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                             std::span<const Detection> boxes);

/// Runs frames by these kernels, with an independent map to the frame and filters. Allocates.
Result<std::unique_ptr<Runner>> second_runner(const Plan& plan, MemorySpace memory,
                                              ThreadPool* threads);

}  // namespace keepbox::test
