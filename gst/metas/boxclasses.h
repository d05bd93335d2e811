// SPDX-License-Identifier: LGPL-2.1-or-later
// Classifications (GstAnalyticsClsMtd) as they are related to boxes.
#pragma once

#include <gst/analytics/analytics.h>

#include <vector>

namespace keepbox {

/// A classification of a box, or of the whole frame.
struct BoxClasses {
  std::vector<GQuark> names;
  std::vector<gfloat> levels;                      // one per name
  guint32 from_box = GST_ANALYTICS_REL_TYPE_NONE;  // relation of the box to it
  guint32 to_box = GST_ANALYTICS_REL_TYPE_NONE;    // its relation to the box
};

/// Returns the classifications that a box is related to.
std::vector<BoxClasses> classes_of(GstAnalyticsRelationMeta* meta, guint od_id);
/// Returns the classifications that are related to no box, and no box to them.
std::vector<BoxClasses> classes_of_frame(GstAnalyticsRelationMeta* meta);

/// Adds a classification of a box; its relations other than those of parts and of related things
/// are left out. @param od_id G_MAXUINT: of the whole frame.
void add_classes(GstAnalyticsRelationMeta* meta, guint od_id, const BoxClasses& classes);

}  // namespace keepbox
