// SPDX-License-Identifier: LGPL-2.1-or-later
// Regions of interest of other elements as boxes.
#pragma once

#include <gst/gst.h>

#include "core/base/result.h"
#include "core/formula/letterbox.h"

namespace keepbox {

/// Attaches a box (GstAnalyticsODMtd) for each GstVideoRegionOfInterestMeta that has none yet: none
/// with the region's id and label, and none with its position and size. The label is the region's
/// type, and the score the confidence of DL Streamer's `detection`, or 1. Regions without area are
/// left out. @param frame its size.
Status add_region_boxes(GstBuffer* buffer, Size frame);

}  // namespace keepbox
