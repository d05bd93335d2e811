// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps and moves a box with its keypoints.
#include "gst/track/followedbox.h"

#include "gst/metas/pixelmap.h"

namespace keepbox {
namespace {

double center(float low, float high) { return (double{low} + high) / 2; }

/// Returns the factor between two sides; 1 if one of them is empty.
double growth(float from, float to) { return from > 0 && to > 0 ? double{to} / from : 1; }

/// Returns the map that moves a box with centre x, y as the track's box moves from one to another.
PixelMap motion_of(const Box& box, const Box& from, const Box& to, bool grows) {
  const double w = grows ? growth(from.x2 - from.x1, to.x2 - to.x1) : 1;
  const double h = grows ? growth(from.y2 - from.y1, to.y2 - to.y1) : 1;
  const double x = center(box.x1, box.x2), y = center(box.y1, box.y2);
  const double dx = center(to.x1, to.x2) - center(from.x1, from.x2);
  const double dy = center(to.y1, to.y2) - center(from.y1, from.y2);
  return PixelMap::scale(w, h, x + dx - x * w, y + dy - y * h);
}

}  // namespace

FollowedBox::FollowedBox(const FrameBox& box, const BoxTrack& track, int64_t seen)
    : box_(box),
      track_(track),
      seen_(seen),
      keypoints_(box.keypoints.points.begin(), box.keypoints.points.end()),
      edges_(box.keypoints.edges.begin(), box.keypoints.edges.end()),
      values_(box.values.values.begin(), box.values.values.end()) {
  box_.mask = {};
  box_.labels = {};
  box_.parent.reset();  // an id on another frame
}

FrameBox FollowedBox::box() const {
  FrameBox out = box_;
  out.keypoints.points = keypoints_;
  out.keypoints.edges = edges_;
  out.values.values = values_;
  return out;
}

bool FollowedBox::is_repeated_by(const FrameBox& held) const {
  return box_.class_id == held.class_id && box_.anchor == held.anchor;
}

FollowedBox FollowedBox::moved(const Box& from, const Box& to) const {
  FollowedBox out = *this;
  const PixelMap map = motion_of(box_.box, from, to, box_.angle == 0);
  out.box_.box = map(box_.box);
  out.box_.predicted = true;
  for (Keypoint& point : out.keypoints_) {
    const auto at = map.point(point.x, point.y);
    point.x = static_cast<float>(at.x);
    point.y = static_cast<float>(at.y);
  }
  return out;
}

}  // namespace keepbox
