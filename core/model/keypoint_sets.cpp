// SPDX-License-Identifier: LGPL-2.1-or-later
// Table of keypoint sets.
#include "core/model/keypoint_sets.h"

#include <algorithm>

namespace keepbox {
namespace {

// Nose, eyes, ears, shoulders, elbows, wrists, hips, knees, ankles; left before right.
constexpr Edge kCoco17[]{{0, 1},  {0, 2},   {1, 3},   {2, 4},   {3, 5},   {4, 6},
                         {5, 6},  {5, 7},   {6, 8},   {7, 9},   {8, 10},  {5, 11},
                         {6, 12}, {11, 12}, {11, 13}, {12, 14}, {13, 15}, {14, 16}};
// Eyes, nose, corners of the mouth.
constexpr Edge kFace5[]{{0, 1}, {0, 2}, {1, 2}, {2, 3}, {2, 4}, {3, 4}};
// Eyes, tip of the nose, mouth, ears.
constexpr Edge kFace6[]{{0, 2}, {0, 4}, {1, 2}, {1, 5}, {2, 3}};
// Wrist, bases of the index, middle, ring and little finger and of the thumb, and its joint.
constexpr Edge kPalm7[]{{0, 1}, {0, 4}, {0, 5}, {1, 2}, {2, 3}, {3, 4}, {5, 6}};
// Middle of the hips, a point on the circle around the body; likewise for the upper body.
constexpr Edge kBody4[]{{0, 1}, {2, 3}};

constexpr PointSet kSets[]{
    {"body-pose/coco-17", 17, kCoco17},        {"face-landmarks/5", 5, kFace5},
    {"face-landmarks/mediapipe-6", 6, kFace6}, {"hand-landmarks/palm-7", 7, kPalm7},
    {"body-pose/alignment-4", 4, kBody4},
};

}  // namespace

const PointSet* find_point_set(std::string_view name) {
  const auto* found = std::ranges::find(kSets, name, &PointSet::name);
  return found == std::end(kSets) ? nullptr : found;
}

}  // namespace keepbox
