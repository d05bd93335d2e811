// SPDX-License-Identifier: LGPL-2.1-or-later
// Keypoint groups of GStreamer 1.30, also available earlier in some distributions. Found by name,
// so that builds with 1.26 can read and write them.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include "gst/metas/boxes.h"
#include "gst/metas/pixelmap.h"

namespace keepbox {

/// The functions as declared in GStreamer's headers. `int` replaces their enumeration of
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
                            const gfloat* confidences, const guint8* visibilities, gsize pairs_len,
                            const gint* pairs, GstAnalyticsMtd*);
  GstAnalyticsMtdType (*group_type)();
  gboolean (*add_group)(GstAnalyticsRelationMeta*, gsize members, GstAnalyticsMtd*);
  gboolean (*add_member)(GstAnalyticsMtd*, guint id);
  gboolean (*set_tag)(GstAnalyticsMtd*, const gchar*);
  gsize (*members)(const GstAnalyticsMtd*);
  gboolean (*member)(const GstAnalyticsMtd*, gsize index, GstAnalyticsMtd*);
  gchar* (*tag)(const GstAnalyticsMtd*);  // transfer full
};

/// Returns the functions of the running GStreamer if it has all of them, or nullptr.
const KeypointApi* keypoint_api();

/// Replaces the functions for tests; nullptr restores them. @pre keypoints are not in use.
void use_keypoint_api(const KeypointApi* api);

/// Returns the number of mtds for a group of these keypoints: 0 if there are none, or no group
/// support.
gsize mtds_of_group(const FrameKeypoints& keypoints);

/// Adds a group of rounded keypoints, with both relations to its detection that readers look for.
/// @pre mtds_of_group() is not 0.
void add_group(GstAnalyticsRelationMeta* meta, guint od_id, const FrameKeypoints& keypoints);

/// Reads the first non-empty group that is related to a detection; coordinates are integers.
/// @param store owns the keypoints.
FrameKeypoints read_group(GstAnalyticsRelationMeta* meta, guint od_id, KeypointStore& store);

bool is_group(GstAnalyticsMtdType type);
bool is_keypoint(GstAnalyticsMtdType type);

/// Adds a keypoint to another meta, mapped but not clipped. @return its id.
guint carry_keypoint(const GstAnalyticsMtd& keypoint, GstAnalyticsRelationMeta* to,
                     const PixelMap& map);

}  // namespace keepbox
