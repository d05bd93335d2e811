// SPDX-License-Identifier: LGPL-2.1-or-later
// Keypoints of boxes as floats, in the same meta as the float boxes. Keypoints of a decoder with
// the same names are one mtd.
#pragma once

#include <span>
#include <vector>

#include "gst/metas/boxrecords.h"
#include "gst/metas/framebox.h"

namespace keepbox {

/// Returns slightly more than the bytes that the boxes' keypoints need in a relation meta.
gsize bytes_of_points(std::span<const FrameBox> boxes);

/// Adds keypoints of boxes with class and anchor. @pre od_id is set and ascending.
void add_points(GstAnalyticsRelationMeta* meta, std::span<const FrameBox> boxes);

/// The keypoints of a relation meta. Valid until mtds are added to it.
class PointRecords {
 public:
  explicit PointRecords(GstAnalyticsRelationMeta* meta);

  /// Returns the keypoints of a detection, or none. Valid if its record agrees.
  FramePoints find(guint od_id) const;

 private:
  struct Block {
    RecordBlock records;
    GQuark name;
    guint count;  // points per box
    std::span<const Edge> edges;
  };
  std::vector<Block> blocks_;
};

bool is_points(GstAnalyticsMtdType type);

/// Copies the keypoints of precise detections to their new positions, mapped but not clipped.
/// @param mtd of points. @param placed indexed by the ids in mtd.meta.
void carry_points(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                  std::span<const Placed> placed, const PixelMap& map);

}  // namespace keepbox
