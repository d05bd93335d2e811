// SPDX-License-Identifier: LGPL-2.1-or-later
// Attaches a decoder's boxes to a frame.
#pragma once

#include <gst/gst.h>

#include <span>

#include "core/base/result.h"
#include "core/formula/letterbox.h"
#include "gst/metas/framebox.h"

namespace keepbox {

/// Choice of metas that are written in addition to GstAnalyticsODMtd.
struct AttachOptions {
  bool classes = false;  // a GstAnalyticsClsMtd related to each box
  bool regions = false;  // a GstVideoRegionOfInterestMeta with the same id
  Size frame;            // rounded boxes stay inside it; regions are normalised by it
};

/// The maximum number of mtds on a frame to which boxes are added. GStreamer allocates one byte for
/// each pair of mtds, related or not: 100 MB for this number.
inline constexpr gsize kMaxMtds = 10'000;

/// Attaches a decoder's boxes: always a relation meta, sized in advance; a GstAnalyticsODMtd per
/// box, edges rounded to pixels and at least one pixel apart; and the boxes as floats. An oriented
/// box is written as an upright one about the same centre, with its angle. A mask becomes a
/// GstAnalyticsSegmentationMtd related to its box in both directions, with the regions 0 and
/// FrameMask::region, or if unset the mask_region() of its index, and holds a reference to its
/// pixels. Keypoints become floats, and a group of keypoints if GStreamer supports these and they
/// fit in kMaxMtds. A part of another box (FrameBox::parent) is related to it as IS_PART_OF, and
/// back as CONTAIN. Adds to an existing relation meta. kInvalid, with nothing attached, if boxes,
/// classes and masks would make more than kMaxMtds.
/// @param boxes get their od_id; boxes with class and anchor are also written as floats.
Status attach_boxes(GstBuffer* buffer, std::span<FrameBox> boxes, const AttachOptions& options);

/// Returns the number of mtds that attach_boxes() needs for a box.
gsize mtds_of(const FrameBox& box, bool classes);

/// Returns how many mtds attach_boxes() can add to a frame.
gsize room_on(GstBuffer* buffer);

}  // namespace keepbox
