// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the boxes of a frame.
#pragma once

#include <gst/gst.h>

#include <vector>

#include "core/formula/letterbox.h"
#include "gst/metas/framebox.h"

namespace keepbox {

/// Reads all boxes of a buffer in the order of their ids, whichever decoder wrote them. Our own
/// floats and keypoints are used if the box's record agrees with its detection. A mask is used if
/// it is GRAY8 and of one object. Boxes completely outside of the frame, as left by a crop, are
/// skipped.
/// @param others gets the keypoints of other decoders' groups; without it they have none.
/// @param frame if empty, the size is taken from the GstVideoMeta, or else is unlimited.
/// @return false if the buffer has no relation meta.
bool read_boxes(GstBuffer* buffer, std::vector<FrameBox>& out, KeypointStore* others = nullptr,
                Size frame = {});

}  // namespace keepbox
