// SPDX-License-Identifier: LGPL-2.1-or-later
// Groups of keypoints as GStreamer has them from 1.30 on, and some distributors earlier: found by
// name, so that what is built with 1.26 writes and reads them.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include "gst/metas/analytics.h"
#include "gst/metas/pixelmap.h"

namespace keepbox {

/// The functions, as GStreamer's headers declare them. `int` stands for their enumeration of
/// dimensions.
struct KeypointApi {
  GstAnalyticsMtdType (*keypoint_type)();
  gboolean (*add_keypoint)(GstAnalyticsRelationMeta*, int dimensions, gint x, gint y, gint z,
                           guint8 visibility, gfloat confidence, GstAnalyticsMtd*);
  gboolean (*position)(const GstAnalyticsMtd*, gint* x, gint* y, gint* z, int* dimensions);
  gboolean (*confidence)(const GstAnalyticsMtd*, gfloat*);
  gboolean (*visibility)(const GstAnalyticsMtd*, guint8*);
  gboolean (*add_keypoints)(GstAnalyticsRelationMeta*, const gchar* tag, int dimensions,
                            gsize positions_len, const gint* positions, gsize keypoints,
                            const gfloat* confidences, const guint8* visibilities,
                            gsize pairs_len, const gint* pairs, GstAnalyticsMtd*);
  GstAnalyticsMtdType (*group_type)();
  gboolean (*add_group)(GstAnalyticsRelationMeta*, gsize members, GstAnalyticsMtd*);
  gboolean (*add_member)(GstAnalyticsMtd*, guint id);
  gboolean (*set_tag)(GstAnalyticsMtd*, const gchar*);
  gsize (*members)(const GstAnalyticsMtd*);
  gboolean (*member)(const GstAnalyticsMtd*, gsize index, GstAnalyticsMtd*);
  gchar* (*tag)(const GstAnalyticsMtd*);  // transfer full
};

/// What the running GStreamer has: all of it, or nullptr.
const KeypointApi* keypoint_api();

/// For tests: that in its place, and back with nullptr. @pre nobody else is using keypoints.
void use_keypoint_api(const KeypointApi* api);

/// Mtds that a group of these points takes: 0 where there are none, or no groups.
gsize mtds_of_group(const FramePoints& points);

/// Adds a group of points, rounded, in both of the relations to its detection that others look for.
/// @pre mtds_of_group() is not 0.
void add_group(GstAnalyticsRelationMeta* meta, guint od_id, const FramePoints& points);

/// The points of the first group with any that is related to a detection: whole pixels.
/// @param store has them from then on.
FramePoints read_group(GstAnalyticsRelationMeta* meta, guint od_id, PointStore& store);

bool is_group(GstAnalyticsMtdType type);
bool is_keypoint(GstAnalyticsMtdType type);

/// A keypoint in another meta, mapped and not clipped. @return its id.
guint carry_keypoint(const GstAnalyticsMtd& keypoint, GstAnalyticsRelationMeta* to,
                     const PixelMap& map);

}  // namespace keepbox
