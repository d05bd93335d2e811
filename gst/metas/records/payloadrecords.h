// SPDX-License-Identifier: LGPL-2.1-or-later
// Payloads of boxes as floats, in the same meta as the float boxes: keypoints, and values that do
// not move with the picture. Payloads of a decoder with the same name are one mtd.
#pragma once

#include <span>
#include <vector>

#include "core/formula/keypoint.h"
#include "gst/metas/framebox.h"
#include "gst/metas/records/boxrecords.h"

namespace keepbox {

/// Returns slightly more than the bytes that the boxes' payloads need in a relation meta.
gsize bytes_of_payloads(std::span<const FrameBox> boxes);

/// Adds the payloads of boxes with class and anchor. @pre od_id is set and ascending.
void add_payloads(GstAnalyticsRelationMeta* meta, std::span<const FrameBox> boxes);

/// The payloads of a relation meta. Valid until mtds are added to it.
class PayloadRecords {
 public:
  explicit PayloadRecords(GstAnalyticsRelationMeta* meta);

  /// Return the payload of a detection, or nothing. Valid if its record agrees.
  FrameKeypoints keypoints(guint od_id) const;
  FrameValues values(guint od_id) const;

 private:
  struct Block {
    Moves moves;
    RecordBlock records;
    GQuark name;
    guint count;  // floats per box
    std::span<const Edge> edges;
  };
  struct Found {
    const Block* block = nullptr;  // nullptr: none
    std::span<const float> floats{};
  };
  Found find(Moves moves, guint od_id) const;

  std::vector<Block> blocks_;
};

bool is_payload(GstAnalyticsMtdType type);

/// Copies the payloads of precise detections to their new positions. Keypoints are mapped but not
/// clipped. @param mtd of a payload. @param placed indexed by the ids in mtd.meta.
void carry_payload(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                   std::span<const Placed> placed, const PixelMap& map);

}  // namespace keepbox
