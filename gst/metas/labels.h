// SPDX-License-Identifier: LGPL-2.1-or-later
// Class and track of a box, and the label lists of a frame.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include <optional>
#include <vector>

#include "gst/metas/boxes.h"

namespace keepbox {

// Classifications (GstAnalyticsClsMtd) as they are related to boxes.

/// A classification of a box, or of the whole frame.
struct BoxClasses {
  std::vector<GQuark> names;
  std::vector<gfloat> levels;                      // one per name
  guint32 from_box = GST_ANALYTICS_REL_TYPE_NONE;  // relation of the box to it
  guint32 to_box = GST_ANALYTICS_REL_TYPE_NONE;    // its relation to the box
};

/// Returns the classifications that a box is related to.
std::vector<BoxClasses> classes_of(GstAnalyticsRelationMeta* meta, guint od_id);
/// Returns the classifications that are related to no box, and no box to them.
std::vector<BoxClasses> classes_of_frame(GstAnalyticsRelationMeta* meta);

/// Adds a classification of a box; its relations other than those of parts and of related things
/// are left out. @param od_id G_MAXUINT: of the whole frame.
void add_classes(GstAnalyticsRelationMeta* meta, guint od_id, const BoxClasses& classes);

// Results of classifiers and text recognisers about whole frames.

/// Returns the results about the whole frame, as FrameBox::labels has those about an object: those
/// of classdecode, then the first class of each GstAnalyticsClsMtd of other elements that belongs
/// to no box. Texts are owned by the buffer's metas, and valid until mtds are added to these.
BoxLabels read_frame_labels(GstBuffer* buffer);

// The track of a box: its GstAnalyticsTrackingMtd.

struct TrackInfo {
  guint64 id = 0;
  GstClockTime first_seen = 0, last_seen = 0;
  bool lost = false;
};

/// Returns the track that a box is related to, if there is one.
std::optional<TrackInfo> track_of(GstAnalyticsRelationMeta* meta, guint od_id);

/// Finds the tracks of boxes as track_of() does, without a search for those whose tracks are in the
/// same order, as trackers add them: a search takes time in proportion to all mtds.
class TrackFinder {
 public:
  /// @param meta outlives this, unchanged.
  explicit TrackFinder(GstAnalyticsRelationMeta* meta);

  /// True if there are tracks.
  bool any() const { return !tracks_.empty(); }
  std::optional<TrackInfo> of(guint od_id);

 private:
  GstAnalyticsRelationMeta* meta_;
  std::vector<GstAnalyticsMtd> tracks_;
  size_t next_ = 0;  // after that of the last box
};

/// Relates a box to a new mtd of its track.
void add_track(GstAnalyticsRelationMeta* meta, guint od_id, const TrackInfo& track);

}  // namespace keepbox
