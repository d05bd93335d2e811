// SPDX-License-Identifier: LGPL-2.1-or-later
// A second, deliberately different implementation of the kernels, with bugs that can be planted.
#pragma once

#include "core/backend.h"

namespace keepbox::test {

enum class Bug {
  kNone,
  kIouInclusive,      // >= at the IoU threshold
  kFusedUnion,        // fused multiply-add in the union
  kProductTest,       // common > threshold * union instead of the division
  kPlusOne,           // a pixel added to every width
  kNoReorder,         // corners in the wrong order stay so
  kClassIgnored,      // classes suppress each other
  kClassCompared,     // classes do not, although they should
  kSuppressedToo,     // a suppressed box suppresses others
  kTieHighAnchor,     // equal scores: the later anchor first
  kNegativeZero,      // -0 after +0
  kTopKOffByOne,
  kLimitOffByOne,     // one box more than max-detections
  kScoreInclusive,    // >= at the score threshold
  kNanScore,          // !(score < threshold)
  kInfinityKept,      // coordinates are not looked at
  kLastClass,         // of equal classes the last
  kArgmaxFirst,       // the class chosen before the product, always
  kProductFirst,      // the product before the class, always
  kFilterFirst,       // unwanted classes left out of the argmax
  kClassThreshold,    // thresholds of classes are forgotten
  kTailDropped,       // anchors beyond a multiple of 8
  kAlignedLoads,      // pointers rounded down to 16 bytes
  kGridTransposed,    // columns taken for rows
  kPriorSwapped,      // x and y of deltas exchanged
  kSoftmaxOverflow,   // the largest logit is not subtracted
  kFirstImageOnly,    // every image of a batch is the first
  kMaskShifted,       // bitmask: rows a bit off beyond their own word
  kSegmentShort,      // segmented: a class's last box is outside its segment
  kFastByKept,        // fast: only kept boxes suppress
  kLimitSuppresses,   // a box beyond its class's limit suppresses others
  kZeroPoint,         // quantised numbers without their zero point
  kLogitUnlimited,    // logits are not clamped
  kMeanByProduct,     // the product in place of its root
  kLoneClassCounts,   // the score of the only class is multiplied
  kPeaksOfRow,        // peaks are compared with their row alone
  kNoPeaks,           // with nothing
  kOneLabel,          // the best class alone where all count
  kAnyImage,          // rows of other images count
  kBinsFromOne,       // bins count from 1
  kCellCentre,        // cells begin at their centre, Darknet's centres are not scaled
  kDeltaUnlimited,    // logarithms of sizes are not limited
  kRowForIndex,       // a row's own box in place of the one that it points to
  kOffsetForgotten,   // classes compared by id where they lie side by side
  kTieForgotten,      // of equal scores the first anchor first, always
  kSoftInOrder,       // soft: chosen by the scores that they came with
  kSoftPartForgotten,  // soft: the exponent of one contract for all
  kSoftKeepsAll,      // soft, matrix: scores that fell below the threshold stay
  kWeightedByAll,     // weighted: boxes go into several means
  kMergedByRest,      // merge: only suppressed boxes go into means, and once
  kDiouAsIou,         // diou: distances do not count
  kMatrixUnweighed,   // matrix: suppressed boxes suppress as much as others
  kClassTopKOfAll,    // class-top-k counts all classes together
  kClassCutLate,      // candidates of classes are cut after those of all
  kSizeExclusive,     // a box of the least size is dropped
  kSizeOfFirst,       // every class has the limits of the first
  kRegionEdge,        // a centre on a region's right or lower edge lies in it
  kRegionInside,      // a box up to a region's right or lower edge does not lie inside
  kFilteredFirst,     // sizes and regions before suppression
  kPointsInOrder,     // points are those of another anchor
  kPointsPlain,       // points are not from cells, priors or boxes
  kPointsClipped,     // points are moved into the frame
  kMaskWider,         // masks begin a pixel early
  kMaskFused,         // fused multiply-add in a mask's sums
  kMaskOfFirst,       // the prototypes of a batch's first image
  kAngleForgotten,    // turned boxes are upright
  kOtherOverlap,      // polygons in place of distributions, and the other way round
  kTurnedClipped,     // turned boxes are clipped as upright ones
  kAngleKept,         // of turned boxes where the axes are scaled differently
  kCount,
};

/// The kernels, with one bug. Not thread-safe: the bug is a global that this sets.
Backend second_backend(Bug bug = Bug::kNone);

/// The same with the bug that there is, and without whole frames.
Backend second_kernels();
bool is_planted(Bug bug);

/// Points and masks of boxes by code of its own.
struct SecondGathered {
  std::vector<Keypoint> points;
  std::vector<MaskPlace> places;
  std::vector<uint8_t> inside;
  std::vector<float> numbers;
};
SecondGathered second_gather(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                             std::span<const Detection> boxes);

/// Frames by these kernels, mapped to the frame and filtered by code of its own. Allocates.
Result<std::unique_ptr<Runner>> second_runner(const Plan& plan, MemorySpace memory);

}  // namespace keepbox::test
