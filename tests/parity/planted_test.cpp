// SPDX-License-Identifier: LGPL-2.1-or-later
// The families of inputs detect every planted bug.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <format>
#include <iterator>
#include <string>

#include "tests/parity/candidates.h"
#include "tests/parity/second/second.h"

namespace keepbox::test {
namespace {

struct Trap {
  Bug bug;
  Kernel kernel;
  const char* family;
};

/// The family that detects each bug. A family that misses its bug is worthless.
constexpr Trap kTraps[] = {
    {Bug::kIouInclusive, Kernel::kNms, "grid"},
    {Bug::kFusedUnion, Kernel::kNms, "at-threshold"},
    {Bug::kProductTest, Kernel::kNms, "at-threshold"},
    {Bug::kPlusOne, Kernel::kNms, "scene"},
    {Bug::kNoReorder, Kernel::kNms, "degenerate"},
    {Bug::kClassIgnored, Kernel::kNms, "scene"},
    {Bug::kClassCompared, Kernel::kNms, "agnostic"},
    {Bug::kSuppressedToo, Kernel::kNms, "chains"},
    {Bug::kTieHighAnchor, Kernel::kSelect, "ties"},
    {Bug::kNegativeZero, Kernel::kSelect, "negative-zero"},
    {Bug::kTopKOffByOne, Kernel::kSelect, "capacity"},
    {Bug::kLimitOffByOne, Kernel::kNms, "capacity"},
    {Bug::kScoreInclusive, Kernel::kDecode, "score-at-threshold"},
    {Bug::kNanScore, Kernel::kDecode, "not-finite"},
    {Bug::kInfinityKept, Kernel::kDecode, "not-finite"},
    {Bug::kLastClass, Kernel::kDecode, "class-ties"},
    {Bug::kArgmaxFirst, Kernel::kDecode, "product-ties"},
    {Bug::kProductFirst, Kernel::kDecode, "product-ties"},
    {Bug::kFilterFirst, Kernel::kDecode, "class-filter"},
    {Bug::kClassThreshold, Kernel::kDecode, "class-filter"},
    {Bug::kTailDropped, Kernel::kDecode, "sizes"},
    {Bug::kAlignedLoads, Kernel::kDecode, "unaligned"},
    {Bug::kGridTransposed, Kernel::kDecode, "yolox-grid"},
    {Bug::kPriorSwapped, Kernel::kDecode, "ssd"},
    {Bug::kSoftmaxOverflow, Kernel::kDecode, "softmax"},
    {Bug::kFirstImageOnly, Kernel::kFrame, "batch"},
    {Bug::kMaskShifted, Kernel::kNms, "mask-words"},
    {Bug::kSegmentShort, Kernel::kNms, "many-classes"},
    {Bug::kFastByKept, Kernel::kNms, "long-chains"},
    {Bug::kLimitSuppresses, Kernel::kNms, "class-limit"},
    {Bug::kZeroPoint, Kernel::kDecode, "integers"},
    {Bug::kLogitUnlimited, Kernel::kDecode, "clamped"},
    {Bug::kMeanByProduct, Kernel::kDecode, "faces"},
    {Bug::kLoneClassCounts, Kernel::kDecode, "raw-heads"},
    {Bug::kPeaksOfRow, Kernel::kDecode, "peaks"},
    {Bug::kNoPeaks, Kernel::kDecode, "peaks"},
    {Bug::kOneLabel, Kernel::kDecode, "labels"},
    {Bug::kAnyImage, Kernel::kDecode, "images"},
    {Bug::kBinsFromOne, Kernel::kDecode, "bins"},
    {Bug::kCellCentre, Kernel::kDecode, "raw-heads"},
    {Bug::kDeltaUnlimited, Kernel::kDecode, "anchors"},
    {Bug::kRowForIndex, Kernel::kDecode, "pointers"},
    {Bug::kOffsetForgotten, Kernel::kNms, "class-offset"},
    {Bug::kTieForgotten, Kernel::kDecode, "method-edges"},
    {Bug::kSoftInOrder, Kernel::kNms, "soft"},
    {Bug::kSoftPartForgotten, Kernel::kNms, "soft-contract"},
    {Bug::kSoftKeepsAll, Kernel::kNms, "matrix"},
    {Bug::kWeightedByAll, Kernel::kNms, "means"},
    {Bug::kMergedByRest, Kernel::kNms, "means"},
    {Bug::kDiouAsIou, Kernel::kNms, "diou"},
    {Bug::kMatrixUnweighed, Kernel::kNms, "matrix"},
    {Bug::kClassTopKOfAll, Kernel::kNms, "class-top-k"},
    {Bug::kClassCutLate, Kernel::kSelect, "class-top-k"},
    {Bug::kSizeExclusive, Kernel::kFrame, "filters"},
    {Bug::kSizeOfFirst, Kernel::kFrame, "filters"},
    {Bug::kRegionEdge, Kernel::kFrame, "filters"},
    {Bug::kRegionInside, Kernel::kFrame, "filters"},
    {Bug::kFilteredFirst, Kernel::kFrame, "filters"},
    {Bug::kPointsInOrder, Kernel::kFrame, "points"},
    {Bug::kPointsPlain, Kernel::kFrame, "landmarks"},
    {Bug::kPointsClipped, Kernel::kFrame, "points"},
    {Bug::kPointsUnclipped, Kernel::kFrame, "points"},
    {Bug::kMaskWider, Kernel::kFrame, "masks"},
    {Bug::kMaskFused, Kernel::kFrame, "mask-edges"},
    {Bug::kMaskNearest, Kernel::kFrame, "frame-masks"},
    {Bug::kMaskBeyond, Kernel::kFrame, "frame-masks"},
    {Bug::kMaskMixFused, Kernel::kFrame, "frame-mask-edges"},
    {Bug::kMaskOfFirst, Kernel::kFrame, "masks"},
    {Bug::kAngleForgotten, Kernel::kDecode, "oriented-planes"},
    {Bug::kOtherOverlap, Kernel::kNms, "oriented"},
    {Bug::kOrientedClipped, Kernel::kFrame, "oriented-frames"},
    {Bug::kAngleKept, Kernel::kFrame, "oriented-frames"},
    {Bug::kFirstTile, Kernel::kFrame, "tiles"},
};
static_assert(std::size(kTraps) == static_cast<size_t>(Bug::kCount) - 1);

class Planted : public testing::TestWithParam<Trap> {};

TEST_P(Planted, BugIsCaught) {
  const Trap& trap = GetParam();
  const auto* family = std::ranges::find_if(families(), [&](const Family& each) {
                         return std::strcmp(each.name, trap.family) == 0;
                       }).base();
  const auto found = hunt(trap.kernel, second_backend(trap.bug), *family);
  if (!found && seeds < kAllSeeds)
    GTEST_SKIP() << trap.family << " shows it only with --seeds=" << kAllSeeds;
  EXPECT_TRUE(found) << trap.family;
}

INSTANTIATE_TEST_SUITE_P(Each, Planted, testing::ValuesIn(kTraps), [](const auto& each) {
  std::string text = std::format("{}_{}", static_cast<int>(each.param.bug), each.param.family);
  std::ranges::replace(text, '-', '_');
  return text;
});

}  // namespace
}  // namespace keepbox::test
