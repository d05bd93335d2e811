// SPDX-License-Identifier: LGPL-2.1-or-later
// The areas of masks as floats, in the same meta as their GstAnalyticsSegmentationMtd with
// integers.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gst/metas/records/boxrecords.h"

namespace keepbox {

/// The area of one box's mask. New members are appended.
struct MaskRecord {
  guint od_id = 0;                        // the box
  guint seg_id = 0;                       // the GstAnalyticsSegmentationMtd with its mask
  gfloat x1 = 0, y1 = 0, x2 = 0, y2 = 0;  // the area of the mask in frame pixels

  Box place() const { return {x1, y1, x2, y2}; }
};

/// Returns the bytes that records of that many masks need in a relation meta.
gsize bytes_of_masks(gsize count);

/// Adds records. @pre in ascending order of od_id. An empty list adds nothing.
void add_masks(GstAnalyticsRelationMeta* meta, std::span<const MaskRecord> records);

/// The records of a relation meta. Valid until mtds are added to it.
class MaskRecords {
 public:
  explicit MaskRecords(GstAnalyticsRelationMeta* meta);

  /// Returns the area of a detection's mask, if our decoder wrote both. Valid if the detection's
  /// own record agrees.
  std::optional<Box> find(guint od_id, guint seg_id) const;
  /// Returns the same if only the mask is known.
  std::optional<MaskRecord> of_mask(guint seg_id) const;

 private:
  std::vector<RecordBlock> blocks_;
};

bool is_masks(GstAnalyticsMtdType type);

}  // namespace keepbox
