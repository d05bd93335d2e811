// SPDX-License-Identifier: LGPL-2.1-or-later
// Carries the analytics of a frame to another frame that shows the same picture.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include "gst/metas/pixelmap.h"
#include "gst/tensors/provenance.h"

namespace keepbox {

/// Carries all analytics and regions of a buffer to another, mapped: mtds of every type with their
/// relations, added after existing ones. Boxes are rounded again from their floats; upright boxes
/// are clipped to the picture of `to`, and dropped if completely outside. Keypoints are mapped but
/// not clipped; masks go through moved_mask(). Types without support for a matrix are scaled. The
/// data of tensors is shared. Tensors, masks and keypoints of an object stay with the object.
/// @param map from the pixels of `from` to those of `to`.
/// @param moved as for carry_tensors(), which must be called first.
void carry_analytics(GstBuffer* from, const GstVideoInfo& from_info, GstBuffer* to,
                     const GstVideoInfo& to_info, const PixelMap& map,
                     const MovedProvenance& moved);

}  // namespace keepbox
