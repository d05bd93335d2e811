// SPDX-License-Identifier: LGPL-2.1-or-later
// Where masks lie as floats, beside the integers of their GstAnalyticsSegmentationMtd and in the
// same meta.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gst/metas/boxrecords.h"

namespace keepbox {

/// Of one box. New members go to the end.
struct MaskRecord {
  guint od_id = 0;   // of the box
  guint seg_id = 0;  // of the GstAnalyticsSegmentationMtd with its mask
  gfloat x1 = 0, y1 = 0, x2 = 0, y2 = 0;  // what the mask covers: pixels of the frame

  Box place() const { return {x1, y1, x2, y2}; }
};

/// Bytes that the records of so many masks take of a relation meta.
gsize bytes_of_masks(gsize count);

/// @pre in ascending order of od_id. None add nothing.
void add_masks(GstAnalyticsRelationMeta* meta, std::span<const MaskRecord> records);

/// The records of a relation meta. Valid until mtds are added to it.
class MaskRecords {
 public:
  explicit MaskRecords(GstAnalyticsRelationMeta* meta);

  /// The place of a detection's mask, if a decoder of ours wrote both. It is true where the
  /// detection's own record agrees.
  std::optional<Box> find(guint od_id, guint seg_id) const;
  /// The same for whoever knows the mask alone.
  std::optional<MaskRecord> of_mask(guint seg_id) const;

 private:
  std::vector<RecordBlock> blocks_;
};

bool is_masks(GstAnalyticsMtdType type);

}  // namespace keepbox
