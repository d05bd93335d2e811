// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes below the score threshold, for a tracker: it may show that one is an object it follows.
//
// They are records without a GstAnalyticsODMtd in the frame's relation meta. Nothing that reads
// detections can see them, whichever project wrote it, and yet they are scaled, copied and dropped
// with the boxes. A tracker attaches those that it matches as boxes like others.
#pragma once

#include <gst/gst.h>

#include <span>
#include <vector>

#include "gst/metas/framebox.h"

namespace keepbox {

/// Attaches weak boxes of one decoder, with keypoints and values, without masks.
/// @param boxes get their od_id, which is no id of a detection. @pre the buffer has a relation
/// meta; boxes have a class and an anchor.
void attach_weak_boxes(GstBuffer* buffer, std::span<FrameBox> boxes);

/// Returns the weak boxes of a buffer, decoder by decoder. Keypoints
/// and values are valid until mtds are added to the buffer's relation meta.
std::vector<FrameBox> read_weak_boxes(GstBuffer* buffer);

}  // namespace keepbox
