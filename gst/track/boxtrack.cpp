// SPDX-License-Identifier: LGPL-2.1-or-later
// boxtrack: gives the boxes of the same object the same id, frame after frame.
#include <gst/base/gstbasetransform.h>

#include <string>
#include <utility>

#include "gst/base/element.h"
#include "gst/base/error.h"
#include "gst/base/queries.h"
#include "gst/tensors/tensors.h"
#include "gst/track/boxtracks.h"
#include "gst/track/properties.h"

GST_DEBUG_CATEGORY_STATIC(boxtrack_debug);
#define GST_CAT_DEFAULT boxtrack_debug

/**
 * SECTION:element-boxtrack
 * @title: boxtrack
 *
 * Follows objects from frame to frame: relates a GstAnalyticsTrackingMtd to each box
 * (GstAnalyticsODMtd of boxdecode or another decoder), with the id of its object and the running
 * times at which it was first and last seen. Pixels and existing boxes are not touched, so frames
 * may be in any memory.
 *
 * Methods are ByteTrack, SORT and OC-SORT with their published parameters. Time counts, not frames:
 * frame rates may vary and frames may be missing. Ids are unique and ascending in a stream. Tracks
 * end with a flush, a new segment, another frame size, or if times jump back by more than
 * lost-after and a second; a new stream begins with id 1.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! decodebin3 ! videoconvert
 *   ! tensorinfer model-file=yolov8n.onnx interval=3 ! boxdecode track-score-threshold=0.1
 *   ! boxtrack predict=true ! boxoverlay color-by=tracking-id draw-trails=2 ! videoconvert
 *   ! autovideosink
 * ]|
 *
 * Since: 0.2
 */

namespace keepbox {
namespace {

struct State : CountedProps<TrackProps, track_properties, TrackStats> {
  explicit State(GstElement* element) : tracks(element) {}

  // The streaming thread's own:
  BoxTracks tracks;
  TrackProps taken;  // properties that `tracks` has
  Size frame;
  int64_t interval = 0;  // of frames by the caps, in ns; 0 if unknown
  int64_t time = 0;      // running time of the last frame
  GstSegment segment{};  // of the last frame
  std::string stream;    // id
  bool warned = false;
  bool warned_of_hold = false;
};

}  // namespace
}  // namespace keepbox

KEEPBOX_DEFINE_ELEMENT(boxtrack, KeepboxBoxTrack, keepbox_box_track, GstBaseTransform,
                       GST_TYPE_BASE_TRANSFORM)

using namespace keepbox;

namespace {

/// Gives properties to the tracks if they have changed.
void take_props(KeepboxBoxTrack* self) {
  State& s = *self->state;
  TrackProps props = locked_copy(self, s.props);
  if (props == s.taken) return;
  s.taken = std::move(props);
  s.tracks.set(s.taken, s.interval);
}

/// Returns the running time of a frame; without one, that of the next frame by the caps.
int64_t time_of(GstBaseTransform* base, GstBuffer* buffer) {
  State& s = Self::of(base);
  return s.time = running_time_after(s.time, s.interval, base->segment, buffer);
}

/// Warns once that boxes cannot be moved because they are on the frame already.
void check_hold(KeepboxBoxTrack* self) {
  State& s = *self->state;
  if (!s.tracks.has_unmoved_boxes() || s.warned_of_hold) return;
  s.warned_of_hold = true;
  post_warning(GST_ELEMENT(self),
               problem(ErrorKind::kMismatch,
                       "predict=true has no effect where hold=true of tensorinfer repeats boxes",
                       "remove hold=true or predict=true"));
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  KeepboxBoxTrack* self = Self::cast(base);
  State& s = *self->state;
  const GstClockTime started = gst_util_get_timestamp();
  take_props(self);
  const Status status = s.tracks.follow(buffer, time_of(base, buffer), s.frame);
  if (!status && !s.warned) post_warning(GST_ELEMENT(self), status.error());
  s.warned = !status;
  check_hold(self);
  GST_OBJECT_LOCK(self);
  s.stats.add(s.tracks.counts(), gst_util_get_timestamp() - started);
  GST_OBJECT_UNLOCK(self);
  return GST_FLOW_OK;
}

/// Counts the time of a gap for streams whose frames have no times.
void follow_gap(GstBaseTransform* base, GstEvent* event) {
  State& s = Self::of(base);
  GstClockTime from = 0, duration = 0;
  gst_event_parse_gap(event, &from, &duration);
  if (GST_CLOCK_TIME_IS_VALID(duration)) s.time += static_cast<int64_t>(duration);
}

/// Ends tracks if a segment does not go on where the last one is.
void follow_segment(State& s, GstEvent* event) {
  const GstSegment* segment = nullptr;
  gst_event_parse_segment(event, &segment);
  if (s.segment.format != GST_FORMAT_UNDEFINED && !gst_segment_is_equal(segment, &s.segment))
    s.tracks.end();
  s.segment = *segment;
}

/// Begins with id 1 if the stream is another one.
void follow_stream(State& s, GstEvent* event) {
  const gchar* id = nullptr;
  gst_event_parse_stream_start(event, &id);
  if (s.stream == id) s.tracks.end();
  else s.tracks.restart();
  s.stream = id;
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  State& s = Self::of(base);
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_FLUSH_STOP:
      s.tracks.end();
      s.segment.format = GST_FORMAT_UNDEFINED;
      break;
    case GST_EVENT_GAP: follow_gap(base, event); break;
    case GST_EVENT_SEGMENT: follow_segment(s, event); break;
    case GST_EVENT_STREAM_START: follow_stream(s, event); break;
    default: break;
  }
  return Self::parent_as<GstBaseTransformClass>()->sink_event(base, event);
}

gboolean query(GstBaseTransform* base, GstPadDirection direction, GstQuery* query) {
  if (direction == GST_PAD_SRC &&
      answer_tracked(query, locked_copy(base, Self::of(base).props).model_name))
    return TRUE;
  return Self::parent_as<GstBaseTransformClass>()->query(base, direction, query);
}

gboolean set_caps(GstBaseTransform* base, GstCaps* input, GstCaps*) {
  State& s = Self::of(base);
  const auto picture = picture_of(input);
  if (!picture) return FALSE;
  if (s.frame != picture->size) s.tracks.end();
  s.frame = picture->size;
  s.interval = interval_of(input);
  s.tracks.set(s.taken, s.interval);
  return TRUE;
}

gboolean start(GstBaseTransform* base) {
  KeepboxBoxTrack* self = Self::cast(base);
  State& s = *self->state;
  GST_OBJECT_LOCK(self);
  s.stats = {};
  GST_OBJECT_UNLOCK(self);
  s.taken = locked_copy(self, s.props);
  s.time = s.interval = 0;
  s.frame = {};
  s.segment = {};
  s.segment.format = GST_FORMAT_UNDEFINED;
  s.stream.clear();
  s.warned = s.warned_of_hold = false;
  s.tracks.restart();
  s.tracks.set(s.taken, 0);
  return TRUE;
}

gboolean stop(GstBaseTransform* base) {
  Self::of(base).tracks.restart();
  return TRUE;
}

}  // namespace

static void keepbox_box_track_init(KeepboxBoxTrack* self) { self->make_state(); }

static void keepbox_box_track_class_init(KeepboxBoxTrackClass* klass) {
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(boxtrack_debug, "boxtrack", 0, "tracking of boxes");

  Self::set_up(klass);
  State::install(G_OBJECT_CLASS(klass),
                 "Counters since the start: frames, analysed-frames (on which a model ran), "
                 "boxes (given to the tracker), of which tracked-boxes (with an id) and "
                 "recovered-boxes (with an id, below the score threshold), predicted-boxes and "
                 "ids. tracks is the current number of tracks, including lost and unconfirmed "
                 "ones, and time-per-frame-us the mean time of this element.");

  describe(
      klass, "Detection box tracker", "Filter/Analyzer/Video",
      "Gives the boxes of the same object (GstAnalyticsODMtd of any decoder) the same id on all "
      "frames, as GstAnalyticsTrackingMtd");
  add_video_templates(klass);
  transform->start = start;
  transform->stop = stop;
  transform->set_caps = set_caps;
  transform->sink_event = sink_event;
  transform->query = query;
  transform->prepare_output_buffer = writable_with_tensors;
  transform->transform_ip = transform_ip;
}
