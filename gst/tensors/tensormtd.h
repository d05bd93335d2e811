// SPDX-License-Identifier: LGPL-2.1-or-later
// GstAnalyticsTensorMtd, which exists from GStreamer 1.28 on. Its functions are found by name, so
// that builds with 1.26 can use it.
#pragma once

#include <gst/analytics/analytics.h>

namespace keepbox {

struct NewTensor;

/// True if GStreamer has the mtd.
bool has_tensor_mtds();

/// True if it is that type of mtd.
bool is_tensor_mtd(GstAnalyticsMtdType type);

/// Iterates over the mtds of that type, as gst_analytics_relation_meta_iterate() does. Returns
/// false at the end, and if GStreamer does not have the mtd.
bool iterate_tensor_mtds(GstAnalyticsRelationMeta* meta, gpointer* state, GstAnalyticsMtd* mtd);

/// Returns the tensor of an mtd, owned by the meta; nullptr for other mtds.
const GstTensor* tensor_of_mtd(const GstAnalyticsMtd& mtd);

/// Adds a tensor of an object: the object contains it, and it is part of the object. Takes the
/// tensor's data. @pre has_tensor_mtds().
void add_tensor_of_object(GstAnalyticsRelationMeta* meta, guint od_id, const NewTensor& tensor);

}  // namespace keepbox
