// SPDX-License-Identifier: LGPL-2.1-or-later
// The points of boxes as floats, beside the float boxes and in the same meta. The points of a
// decoder's boxes that are called alike are one mtd.
#pragma once

#include <span>
#include <vector>

#include "gst/metas/analytics.h"
#include "gst/metas/boxrecords.h"

namespace keepbox {

/// A little more than the bytes that the points of boxes take of a relation meta.
gsize bytes_of_points(std::span<const FrameBox> boxes);

/// Adds the points of boxes with class and anchor. @pre they have their od_id, which ascend.
void add_points(GstAnalyticsRelationMeta* meta, std::span<const FrameBox> boxes);

/// The points of a relation meta. Valid until mtds are added to it.
class PointRecords {
 public:
  explicit PointRecords(GstAnalyticsRelationMeta* meta);

  /// Those of a detection; none where nobody wrote any. They are true where its record agrees.
  FramePoints find(guint od_id) const;

 private:
  struct Block {
    RecordBlock records;
    GQuark name;
    guint count;  // points of a box
    std::span<const Edge> edges;
  };
  std::vector<Block> blocks_;
};

bool is_points(GstAnalyticsMtdType type);

/// Copies the points of precise detections to where those came, mapped and not clipped.
/// @param mtd of points. @param placed by the ids in mtd.meta.
void carry_points(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                  std::span<const Placed> placed, const PixelMap& map);

}  // namespace keepbox
