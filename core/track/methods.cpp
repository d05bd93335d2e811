// SPDX-License-Identifier: LGPL-2.1-or-later
// The parameters that the authors of each method published.
#include "core/track/methods.h"

namespace keepbox {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

constexpr TrackMethodRow kMethods[] = {
    // Zhang et al. 2022, arXiv 2110.06864, section 4: 0.6, 0.1, 0.7 and 30 frames at 30 per second;
    // an IoU of 0.2, multiplied by the score as in the authors' code.
    {TrackMethod::kByteTrack,
     "bytetrack",
     "Matches boxes of high scores by overlap and score, then tracks that are left with boxes of "
     "low scores",
     MotionModel::kCenterHeight,
     {0.6f, 0.1f, 0.7f, 0.2f, false, 1, kSecond}},
    // Bewley et al. 2016, arXiv 1602.00763: every box counts, lost after one frame, 3 hits.
    {TrackMethod::kSort,
     "sort",
     "Matches all boxes by overlap; a track ends with its second miss",
     MotionModel::kAreaAspect,
     {0, 0, 0, 0.3f, false, 3, 0}},
    // Cao et al. 2023, arXiv 2203.14360: 0.6, an IoU of 0.3, 30 frames, 3 hits.
    {TrackMethod::kOcSort,
     "oc-sort",
     "SORT with the direction of movement, a second matching by the last seen boxes, and a motion "
     "that is corrected after an occlusion",
     MotionModel::kAreaAspect,
     {0.6f, 0, 0.6f, 0.3f, false, 3, kSecond}},
};

}  // namespace

std::span<const TrackMethodRow> track_methods() { return kMethods; }

}  // namespace keepbox
