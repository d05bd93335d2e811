// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts between boxes and GStreamer's analytics metas.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/formula/box.h"
#include "core/formula/keypoint.h"
#include "core/formula/letterbox.h"
#include "core/model/keypoint_sets.h"
#include "gst/metas/pixelmap.h"
#include "gst/tensors/tensors.h"

namespace keepbox {

/// The mask of a box's object.
struct FrameMask {
  GstBuffer* pixels = nullptr;  // GRAY8 with a GstVideoMeta, not 0 inside the object; borrowed;
                                // nullptr: no mask
  Box place;                    // the area that its pixels cover, in frame pixels
};

/// The keypoints of a box's object.
struct FramePoints {
  std::span<const Keypoint> points{};  // frame pixels, possibly outside of it; borrowed
  std::span<const Edge> edges{};       // lines between them; borrowed
  GQuark name = 0;                     // name of the PointSet; 0 if unknown
};

/// Values of a box's object that do not move with the picture, such as an embedding.
struct FrameValues {
  std::span<const float> values{};  // borrowed
  GQuark kind = 0;                  // name of the PayloadKind
};

/// Owns the keypoints of other decoders' boxes, which no meta has as floats.
struct PointStore {
  std::deque<std::vector<Keypoint>> points;
  std::deque<std::vector<Edge>> edges;
};

/// A box on a video frame, from any decoder. What trackers and classifiers add to boxes is read,
/// but not written.
struct FrameBox {
  Box box;  // frame pixels; integers if only GstAnalyticsODMtd has the box
  float score = 0;
  float angle = 0;  // radians
  GQuark label = 0;
  std::optional<uint32_t> class_id;  // the model's class number; unset for other decoders
  std::optional<uint32_t> anchor;
  GQuark model = 0;      // name of the box's model; 0 if unknown
  bool unnamed = false;  // `model` is the decoder's own name, only for telling models apart
  bool held = false;     // from an earlier frame, on which the model ran
  guint od_id = 0;       // id of its GstAnalyticsODMtd; set by reading
  std::optional<guint64> tracking_id{};  // from a GstAnalyticsTrackingMtd related to it
  GstClockTime tracked_since = GST_CLOCK_TIME_NONE;
  FramePoints points{};   // attached unchanged; when read, owned by the buffer's metas or a
  FrameMask mask{};       // PointStore, and valid as long as these are; likewise for masks
  FrameValues values{};   // and values
  GQuark classified = 0;  // first class of a GstAnalyticsClsMtd related to it, and its level
  float class_level = 0;
};

/// Options of what is written in addition to GstAnalyticsODMtd.
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
/// mask_region() of its index among the masks, and holds a reference to its pixels. Keypoints
/// become floats, and a group of keypoints if GStreamer supports these and they fit in kMaxMtds.
/// Adds to an existing relation meta. kInvalid, with nothing attached, if boxes, classes and masks
/// would make more than kMaxMtds.
/// @param boxes get their od_id; boxes with class and anchor are also written as floats.
Status attach_boxes(GstBuffer* buffer, std::span<FrameBox> boxes, const AttachOptions& options);

/// Reads all boxes of a buffer in the order of their ids, whichever decoder wrote them. Our own
/// floats and keypoints are used if the box's record agrees with its detection. A mask is used if
/// it is GRAY8 and of one object. Boxes completely outside of the frame, as left by a crop, are
/// skipped.
/// @param others gets the keypoints of other decoders' groups; without it they have none.
/// @param frame if empty, the size is taken from the GstVideoMeta, or else is unlimited.
/// @return false if the buffer has no relation meta.
bool read_boxes(GstBuffer* buffer, std::vector<FrameBox>& out, PointStore* others = nullptr,
                Size frame = {});

/// A detection in pixels: edges rounded, at least one apart, inside the frame if its size is known.
struct Pixels {
  gint x, y, width, height;
};
Pixels rounded(const Box& box, Size frame);

/// Returns the relation meta of a buffer, or makes one for that many mtds and that many bytes of
/// our own records; one of default size would grow quadratically.
GstAnalyticsRelationMeta* relation_meta_for(GstBuffer* buffer, gsize mtds, gsize bytes);

/// Carries all analytics and regions of a buffer to another, mapped: mtds of every type with their
/// relations, added after existing ones. Boxes are rounded again from their floats; upright boxes
/// are clipped to the picture of `to`, and dropped if completely outside. Keypoints are mapped but
/// not clipped; masks go through moved_mask(). Types without support for a matrix are scaled. The
/// data of tensors is shared. Tensors, masks and keypoints of an object stay with the object.
/// @param map from the pixels of `from` to those of `to`.
/// @param moved as for carry_tensors(), which must be called first.
void carry_analytics(GstBuffer* from, const GstVideoInfo& from_info, GstBuffer* to,
                     const GstVideoInfo& to_info, const PixelMap& map, const MovedSource& moved);

/// True if it is the API of a meta that holds boxes.
bool is_analytics(GType api);

}  // namespace keepbox
