// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the records of a frame, and classifications without a box.
#include "gst/metas/framelabels.h"

#include "gst/metas/boxclasses.h"
#include "gst/metas/records/labelrecords.h"

namespace keepbox {

BoxLabels read_frame_labels(GstBuffer* buffer) {
  BoxLabels out;
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (meta == nullptr) return out;
  LabelRecords(meta).find(kWholeFrame, out);
  for (const BoxClasses& classes : classes_of_frame(meta))
    if (!classes.names.empty()) out.add_class(classes.names[0], classes.levels[0]);
  return out;
}

}  // namespace keepbox
