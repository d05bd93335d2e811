// SPDX-License-Identifier: LGPL-2.1-or-later
// Between boxes and GStreamer's analytics metas, both ways.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/box.h"
#include "core/letterbox.h"
#include "core/points.h"
#include "core/result.h"
#include "gst/metas/pixelmap.h"
#include "gst/tensors/tensors.h"

namespace keepbox {

/// The mask of a box's object.
struct FrameMask {
  GstBuffer* pixels = nullptr;  // GRAY8 with a GstVideoMeta: not 0 where the object is; borrowed.
                                // nullptr: there is none
  Box place;                    // what its pixels cover, evenly: pixels of the frame
};

/// The points of a box's object.
struct FramePoints {
  std::span<const Keypoint> points{};  // pixels of the frame, perhaps outside of it; borrowed
  std::span<const Edge> edges{};       // lines between them; borrowed
  GQuark name = 0;                     // of what they are, as PointSet has it; 0 where nobody says
};

/// Keeps the points of other decoders' boxes, which no meta has as floats.
struct PointStore {
  std::deque<std::vector<Keypoint>> points;
  std::deque<std::vector<Edge>> edges;
};

/// A box on a video frame, ours or another decoder's. Trackers and classifiers add to boxes; what
/// they say is read, and not written.
struct FrameBox {
  Box box;         // pixels of the frame; whole numbers when only GstAnalyticsODMtd has it
  float score = 0;
  float angle = 0;  // radians
  GQuark label = 0;
  std::optional<uint32_t> class_id;  // as the model numbers it; foreign decoders do not say
  std::optional<uint32_t> anchor;
  GQuark model = 0;      // name of the model that it is from; 0 where nobody says
  bool unnamed = false;  // that name is the decoder's own, and only tells models apart
  bool held = false;     // it is an earlier frame's, on which the model ran
  guint od_id = 0;                      // of its GstAnalyticsODMtd; set by reading
  std::optional<guint64> tracking_id{};  // from a GstAnalyticsTrackingMtd related to it
  GstClockTime tracked_since = GST_CLOCK_TIME_NONE;
  FramePoints points{};  // attached as they are; those that are read lie in the buffer's metas or
  FrameMask mask{};      // a PointStore: valid while those are as they are. The same of masks
  GQuark classified = 0;  // first class of a GstAnalyticsClsMtd related to it, and its level
  float class_level = 0;
};

/// What to write beside GstAnalyticsODMtd.
struct AttachOptions {
  bool classes = false;  // a GstAnalyticsClsMtd related to each box
  bool regions = false;  // a GstVideoRegionOfInterestMeta with the same id
  Size frame;            // rounded boxes stay inside it; regions are normalised by it
};

/// The most mtds on a frame that boxes are added to. GStreamer keeps a byte for each pair of them,
/// related or not: 100 MB for so many.
inline constexpr gsize kMostMtds = 10'000;

/// Attaches a decoder's boxes: always a relation meta, sized for them up front; a GstAnalyticsODMtd
/// each, edges rounded to pixels and at least one pixel apart; and the float boxes beside. A turned
/// box is written as if upright about the same centre, and its angle. A mask becomes a
/// GstAnalyticsSegmentationMtd related to its box both ways, with the regions 0 and mask_region() of
/// its place among the masks, and holds a reference to its pixels. Points become floats beside, and
/// a group of keypoints where GStreamer has those and they fit in kMostMtds. Adds to a relation meta
/// that is there already. kInvalid, and nothing attached, where boxes, classes and masks would make
/// more than kMostMtds.
/// @param boxes get their od_id; those with class and anchor have floats beside.
Status attach_boxes(GstBuffer* buffer, std::span<FrameBox> boxes, const AttachOptions& options);

/// All boxes of a buffer in the order of their ids, whichever decoder wrote them. Floats and points
/// of ours count where the box's record agrees with its detection. A mask counts where it is of GRAY8
/// and of one object. Boxes wholly outside the frame, where a crop leaves them, are left out.
/// @param others has the points of other decoders' groups from then on; without it they have none.
/// @param frame without a size: its GstVideoMeta has it, or it has no end to the right and below.
/// @return false when the buffer has no relation meta.
bool read_boxes(GstBuffer* buffer, std::vector<FrameBox>& out, PointStore* others = nullptr,
                Size frame = {});

/// Pixels of a detection: edges rounded, one apart at least, inside the frame where that has a size.
struct Pixels {
  gint x, y, width, height;
};
Pixels rounded(const Box& box, Size frame);

/// The relation meta of a buffer, or a new one with room for so many mtds and so many bytes of our
/// own records: one of the default size grows quadratically.
GstAnalyticsRelationMeta* relation_meta_for(GstBuffer* buffer, gsize mtds, gsize bytes);

/// Takes all analytics and regions of a buffer to another, mapped: every mtd of whatever type with
/// its relations, behind those that are there. Boxes are rounded anew from their floats; upright
/// ones are clipped to the picture of `to`, and only those wholly outside stay behind. Points are
/// mapped and not clipped; masks are moved_mask(). Types that do not know a matrix are scaled. The
/// data of tensors is shared. Tensors, masks and keypoints of an object stay with it.
/// @param map from the pixels of `from` to those of `to`.
/// @param moved as for carry_tensors(), which is to come before.
void carry_analytics(GstBuffer* from, const GstVideoInfo& from_info, GstBuffer* to,
                     const GstVideoInfo& to_info, const PixelMap& map, const MovedSource& moved);

/// Is it the API of a meta that holds boxes?
bool is_analytics(GType api);

}  // namespace keepbox
