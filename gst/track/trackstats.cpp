// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts frames and fills the stats structure.
#include "gst/track/trackstats.h"

#include <algorithm>

namespace keepbox {

void TrackStats::add(const TrackCounts& counts, GstClockTime time) {
  ++frames_;
  analysed_ += counts.analysed;
  boxes_ += counts.boxes;
  tracked_ += counts.tracked;
  recovered_ += counts.recovered;
  predicted_ += counts.predicted;
  tracks_ = counts.tracks;
  ids_ = counts.last_id;
  time_ += time;
}

GstStructure* TrackStats::structure() const {
  const double frames = static_cast<double>(std::max<guint64>(frames_, 1));
  return gst_structure_new(
      "boxtrack-stats", "frames", G_TYPE_UINT64, frames_, "analysed-frames", G_TYPE_UINT64,
      analysed_, "boxes", G_TYPE_UINT64, boxes_, "tracked-boxes", G_TYPE_UINT64, tracked_,
      "recovered-boxes", G_TYPE_UINT64, recovered_, "predicted-boxes", G_TYPE_UINT64, predicted_,
      "tracks", G_TYPE_UINT, tracks_, "ids", G_TYPE_UINT64, ids_, "time-per-frame-us",
      G_TYPE_DOUBLE, static_cast<double>(time_) / GST_USECOND / frames, nullptr);
}

}  // namespace keepbox
