// SPDX-License-Identifier: LGPL-2.1-or-later
// Properties and statistics of boxtrack.
#include "gst/track/properties.h"

#include <algorithm>
#include <format>

namespace keepbox {
namespace {

constexpr gint64 kLongest = 3600 * gint64{GST_SECOND};
constexpr gdouble kHighestRate = 1000;

GType track_method_type() {
  static const GType type = [] {
    std::vector<EnumValue> values;
    for (const TrackMethodRow& row : track_methods())
      values.push_back({static_cast<int>(row.method), row.name, row.summary});
    return register_enum("KeepboxTrackMethod", values);
  }();
  return type;
}

/// Returns the text, followed by the value of each method.
const char* with_values(const char* text, auto value_of) {
  std::string out = std::string(text) + " -1 takes the value of the method: ";
  const char* between = "";
  for (const TrackMethodRow& row : track_methods()) {
    out += std::format("{}{} for {}", between, value_of(row.published), row.name);
    between = ", ";
  }
  return g_intern_string((out + ".").c_str());
}

const char* with_values(const char* text, float TrackParams::* member) {
  return with_values(text, [member](const TrackParams& p) { return p.*member; });
}

const Property<TrackProps> kTrackProperties[] = {
    {"method", "Method that decides which boxes are the same object.", &TrackProps::method,
     track_method_type},
    {"high-threshold",
     with_values("Score above which boxes are matched with tracks first, and can start new ones.",
                 &TrackParams::high_threshold),
     &TrackProps::high_threshold, nullptr, -1, 1},
    {"low-threshold",
     with_values("For method=bytetrack and oc-sort, score above which boxes are matched with the "
                 "remaining tracks; 1 matches none of them. Boxes below the score-threshold of "
                 "boxdecode arrive only with its "
                 "track-score-threshold.",
                 &TrackParams::low_threshold),
     &TrackProps::low_threshold, nullptr, -1, 1},
    {"new-threshold",
     with_values("Minimum score of a box that starts a track.", &TrackParams::new_threshold),
     &TrackProps::new_threshold, nullptr, -1, 1},
    {"match-iou",
     with_values("Minimum intersection over union of a track and its next box, which "
                 "method=bytetrack multiplies by the score of the box.",
                 &TrackParams::match_iou),
     &TrackProps::match_iou, nullptr, -1, 1},
    {"recover-lost",
     "For method=bytetrack, let boxes below high-threshold continue lost tracks, too. In "
     "the published method, only boxes above that threshold do.",
     &TrackProps::recover_lost},
    {"confirm-after",
     with_values(
         "Number of consecutive matches after its first box that a track needs before it gets "
         "an id. On the first frames of a stream, tracks get an id at once.",
         [](const TrackParams& p) { return p.confirm_after; }),
     &TrackProps::confirm_after},
    {"lost-after",
     with_values(
         "Time in nanoseconds without a match after which a track ends; frames, GAP events "
         "and missing frames count alike. 0 ends a track with its second miss in a row, at any "
         "frame rate.",
         [](const TrackParams& p) { return p.lost_after; }),
     &TrackProps::lost_after, nullptr, -1, kLongest},
    {"per-class", "Match boxes with tracks of their own class only.", &TrackProps::per_class},
    {"predict",
     "Attach predicted boxes to frames on which the model did not run (interval= and qos= "
     "of tensorinfer): the boxes of the last frame on which it ran, moved to where their "
     "objects are expected, and marked as predicted. This ends when the model runs again, "
     "or after the time lost-after (a second if that is 0). Do not combine this with hold= "
     "of tensorinfer, which repeats boxes at their old places.",
     &TrackProps::predict},
    {"nominal-rate",
     "Frame rate to which the noise of the method's motion filter refers; at other rates the "
     "noise is scaled by time. 0 takes the frame rate of the caps, which reproduces trackers "
     "that count frames.",
     &TrackProps::nominal_rate, nullptr, 0, kHighestRate},
    {"model-name",
     "Follow only the boxes of the model with this name (model-name of boxdecode); empty follows "
     "the boxes of all models. Boxes of different models are never the same object.",
     &TrackProps::model_name},
};

}  // namespace

const PropertyTable<TrackProps>& track_properties() {
  static constexpr PropertyTable<TrackProps> table(kTrackProperties, kChangeWhilePlaying);
  return table;
}

TrackParams params_of(const TrackProps& props) {
  TrackParams out = row_of(static_cast<TrackMethod>(props.method)).published;
  if (props.high_threshold >= 0) out.high_threshold = props.high_threshold;
  if (props.low_threshold >= 0) out.low_threshold = props.low_threshold;
  if (props.new_threshold >= 0) out.new_threshold = props.new_threshold;
  if (props.match_iou >= 0) out.match_iou = props.match_iou;
  out.recover_lost = props.recover_lost;
  if (props.confirm_after >= 0) out.confirm_after = static_cast<uint32_t>(props.confirm_after);
  if (props.lost_after >= 0) out.lost_after = props.lost_after;
  return out;
}

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
