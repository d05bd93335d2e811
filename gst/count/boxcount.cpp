// SPDX-License-Identifier: LGPL-2.1-or-later
// boxcount: counts objects that cross lines, and follows how long they are in zones.
#include <gst/base/gstbasetransform.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gst/base/element.h"
#include "gst/base/error.h"
#include "gst/count/objects.h"
#include "gst/count/properties.h"
#include "gst/tensors/tensors.h"

GST_DEBUG_CATEGORY_STATIC(boxcount_debug);
#define GST_CAT_DEFAULT boxcount_debug

/**
 * SECTION:element-boxcount
 * @title: boxcount
 *
 * Counts tracked objects that cross lines, and how many are in zones, how often and for how long.
 * It takes the boxes with an id (GstAnalyticsTrackingMtd of boxtrack or another tracker) and does
 * not touch pixels, so frames may be in any memory. Each frame gets a meta with the counts so far,
 * which boxsink and other elements downstream read.
 *
 * A line is crossed by the way of an object between two sightings, and only between its ends. A
 * crossing counts when the object is more than the band beyond the line. An object that begins on
 * a line or behind it has not crossed it. Visits of zones are measured by time, from the first
 * sighting inside to the last.
 *
 * Element messages tell what happens: boxcount-crossed, boxcount-uncertain (an id begins beyond a
 * line where another one was lost), boxcount-entered, boxcount-left, boxcount-dwelt and
 * boxcount-crowded. They have the fields name (string, of the line or zone), running-time and
 * stream-time (guint64, ns, when it happened), id (guint64), class and model (string; not of
 * boxcount-crowded), direction (string, of lines), now (guint, number of objects in the zone
 * afterwards) and dwell (guint64, ns, of boxcount-left and boxcount-dwelt).
 *
 * Counts go on with other caps, and after a flush or a new segment, which end visits and ways. They
 * begin at 0 with a new stream.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -m filesrc location=street.mp4 ! decodebin3 ! videoconvert
 *   ! tensorinfer model-file=yolov8n.onnx ! boxdecode track-score-threshold=0.1 ! boxtrack
 *   ! boxcount lines="gate=0.1,0.6,0.9,0.6" zones="door=0.4,0.2,0.6,0.2,0.6,0.5,0.4,0.5"
 *     include-classes=person ! boxsink location=counts.jsonl
 * ]|
 *
 * Since: 0.2
 */

namespace keepbox {
namespace {

struct State : CountedProps<CountProps, count_properties, CountStats> {
  std::mutex changing;  // held while properties are checked and changed
  // Under the object lock, like props:
  CountShapes shapes;           // of props, while the element is active
  bool active = false;          // between start and stop
  bool changed = false;         // since the streaming thread took props
  bool changed_shapes = false;  // likewise
  // The streaming thread's own:
  Counter counter;
  CountedBoxes boxes;
  CountProps taken;
  Size frame;
  int64_t interval = 0;  // of frames by the caps, in ns; 0 if unknown
  int64_t time = 0;      // running time of the last frame
  GstClockTime stream_time = GST_CLOCK_TIME_NONE;
  GstSegment segment{};  // of the last frame
  std::string stream;    // id
  bool warned_of_full = false;
};

}  // namespace
}  // namespace keepbox

KEEPBOX_DEFINE_ELEMENT(boxcount, KeepboxBoxCount, keepbox_box_count, GstBaseTransform,
                       GST_TYPE_BASE_TRANSFORM)

using namespace keepbox;

namespace {

bool same_shapes(const CountProps& a, const CountProps& b) {
  return a.lines == b.lines && a.zones == b.zones && a.file == b.file;
}

/// Changes a property. In an active element, reads other lines and zones first.
Status change(KeepboxBoxCount* self, guint id, const GValue* value) {
  State& s = *self->state;
  const std::lock_guard one_by_one(s.changing);
  CountProps props = locked_copy(self, s.props);
  const bool active = locked_copy(self, s.active);
  const bool text = G_VALUE_HOLDS_STRING(value);
  count_properties().set(props, id, value);
  // A file of the same name may have other lines.
  const bool reads = active && text && (!same_shapes(props, s.props) || !props.file.empty());
  CountShapes shapes;
  if (reads) {
    KB_ASSIGN(shapes, read_shapes(props));
  }
  GST_OBJECT_LOCK(self);
  s.props = std::move(props);
  if (reads) s.shapes = std::move(shapes);
  s.changed_shapes |= reads;
  s.changed = true;
  GST_OBJECT_UNLOCK(self);
  return {};
}

/// Sets a property, or keeps it, with a warning, if its lines or zones cannot be used by an active
/// element.
void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  if (const Status changed = change(Self::cast(object), id, value); !changed)
    warn_kept(object, spec, changed.error());
}

/// Gives properties to the counter if they have changed.
void take_props(KeepboxBoxCount* self) {
  State& s = *self->state;
  GST_OBJECT_LOCK(self);
  const bool changed = std::exchange(s.changed, false);
  const bool changed_shapes = std::exchange(s.changed_shapes, false);
  if (changed) s.taken = s.props;
  CountShapes shapes = changed_shapes ? s.shapes : CountShapes{};
  GST_OBJECT_UNLOCK(self);
  if (changed_shapes) s.counter.set(std::move(shapes));
  if (!changed) return;
  s.counter.set(settings_of(s.taken, s.interval));
  s.boxes.set(s.taken);
}

/// Posts a message for each note.
void post(KeepboxBoxCount* self, const std::vector<CountNote>& notes) {
  State& s = *self->state;
  for (const CountNote& note : notes)
    gst_element_post_message(
        GST_ELEMENT(self),
        gst_message_new_element(
            GST_OBJECT(self), message_of(note, static_cast<GstClockTime>(s.time), s.stream_time)));
}

/// Ends visits and ways, and tells of it downstream, where no frame does.
void end_objects(KeepboxBoxCount* self) {
  State& s = *self->state;
  s.counter.end();
  FrameCounts counts{.lines = {}, .zones = {}, .notes = s.boxes.notes(s.counter.take_events())};
  if (counts.notes.empty()) return;
  post(self, counts.notes);
  gst_pad_push_event(GST_BASE_TRANSFORM_SRC_PAD(self), counts_event(counts));
}

/// Warns once of what keeps objects from being counted.
void check_objects(KeepboxBoxCount* self) {
  State& s = *self->state;
  if (const auto missing = s.boxes.missing_ids_warning(false))
    post_warning(GST_ELEMENT(self), *missing);
  if (!s.counter.is_full() || std::exchange(s.warned_of_full, true)) return;
  post_warning(GST_ELEMENT(self),
               problem(ErrorKind::kNoResource,
                       "Objects are not counted, because there are too many at a time",
                       "lower lost-after= or set fewer lines and zones"));
}

GstClockTime stream_time_of(const GstSegment& segment, GstBuffer* buffer) {
  const GstClockTime time = GST_BUFFER_PTS(buffer);
  if (segment.format != GST_FORMAT_TIME || !GST_CLOCK_TIME_IS_VALID(time))
    return GST_CLOCK_TIME_NONE;
  return gst_segment_to_stream_time(&segment, GST_FORMAT_TIME, time);
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  KeepboxBoxCount* self = Self::cast(base);
  State& s = *self->state;
  const GstClockTime started = gst_util_get_timestamp();
  take_props(self);
  s.time = running_time_after(s.time, s.interval, base->segment, buffer);
  s.stream_time = stream_time_of(base->segment, buffer);
  const CountFrame frame = s.boxes.read(buffer, s.frame, s.time);
  s.counter.see(frame);
  FrameCounts counts = frame_counts(s.counter, static_cast<GstClockTime>(s.time));
  counts.notes = s.boxes.notes(s.counter.take_events());
  post(self, counts.notes);
  if (!counts.empty()) attach_counts(buffer, std::move(counts));
  check_objects(self);
  GST_OBJECT_LOCK(self);
  s.stats.add(s.counter, static_cast<guint>(frame.points.size()),
              gst_util_get_timestamp() - started);
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

/// Ends visits and ways if a segment does not go on where the last one is.
void follow_segment(KeepboxBoxCount* self, GstEvent* event) {
  State& s = *self->state;
  const GstSegment* segment = nullptr;
  gst_event_parse_segment(event, &segment);
  if (s.segment.format != GST_FORMAT_UNDEFINED && !gst_segment_is_equal(segment, &s.segment))
    end_objects(self);
  s.segment = *segment;
}

/// Begins at 0 if the stream is another one.
void follow_stream(KeepboxBoxCount* self, GstEvent* event) {
  State& s = *self->state;
  const gchar* id = nullptr;
  gst_event_parse_stream_start(event, &id);
  end_objects(self);
  if (s.stream != id) {
    s.counter.restart();
    s.boxes.restart();
  }
  s.stream = id;
}

void follow_end(KeepboxBoxCount* self) {
  State& s = *self->state;
  end_objects(self);
  if (const auto missing = s.boxes.missing_ids_warning(true))
    post_warning(GST_ELEMENT(self), *missing);
  if (const auto missing = s.boxes.missing_classes_warning())
    post_warning(GST_ELEMENT(self), *missing);
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  KeepboxBoxCount* self = Self::cast(base);
  const bool flushed = GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP;
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_EOS: follow_end(self); break;
    case GST_EVENT_GAP: follow_gap(base, event); break;
    case GST_EVENT_SEGMENT: follow_segment(self, event); break;
    case GST_EVENT_STREAM_START: follow_stream(self, event); break;
    default: break;
  }
  const gboolean taken = Self::parent_as<GstBaseTransformClass>()->sink_event(base, event);
  if (flushed) {  // pads take events again
    end_objects(self);
    self->state->segment.format = GST_FORMAT_UNDEFINED;
  }
  return taken;
}

gboolean set_caps(GstBaseTransform* base, GstCaps* input, GstCaps*) {
  State& s = Self::of(base);
  const auto picture = picture_of(input);
  if (!picture) return FALSE;
  s.frame = picture->size;
  s.interval = interval_of(input);
  s.counter.set(settings_of(s.taken, s.interval));
  return TRUE;
}

/// Reads lines and zones, and makes set_property() check them from now on.
Status activate(KeepboxBoxCount* self) {
  State& s = *self->state;
  const std::lock_guard one_by_one(s.changing);
  KB_ASSIGN(CountShapes shapes, read_shapes(locked_copy(self, s.props)));
  GST_OBJECT_LOCK(self);
  s.shapes = std::move(shapes);
  s.active = s.changed = s.changed_shapes = true;
  s.stats = {};
  GST_OBJECT_UNLOCK(self);
  return {};
}

gboolean start(GstBaseTransform* base) {
  KeepboxBoxCount* self = Self::cast(base);
  State& s = *self->state;
  if (const Status ready = activate(self); !ready) {
    post_error(GST_ELEMENT(self), ready.error());
    return FALSE;
  }
  s.time = s.interval = 0;
  s.stream_time = GST_CLOCK_TIME_NONE;
  s.frame = {};
  s.segment = {};
  s.segment.format = GST_FORMAT_UNDEFINED;
  s.stream.clear();
  s.warned_of_full = false;
  s.counter = {};
  s.boxes.restart();
  take_props(self);
  const CountShapes& shapes = s.counter.shapes();
  if (shapes.lines.empty() && shapes.zones.empty())
    post_warning(GST_ELEMENT(self), problem(ErrorKind::kInvalid, "There is nothing to count at",
                                            "set lines=, zones= or file="));
  return TRUE;
}

gboolean stop(GstBaseTransform* base) {
  KeepboxBoxCount* self = Self::cast(base);
  GST_OBJECT_LOCK(self);
  self->state->active = false;
  GST_OBJECT_UNLOCK(self);
  self->state->counter = {};
  return TRUE;
}

}  // namespace

static void keepbox_box_count_init(KeepboxBoxCount* self) { self->make_state(); }

static void keepbox_box_count_class_init(KeepboxBoxCountClass* klass) {
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(boxcount_debug, "boxcount", 0, "counting of objects");

  Self::set_up(klass);
  G_OBJECT_CLASS(klass)->set_property = set_property;
  State::install(G_OBJECT_CLASS(klass),
                 "Counters since the start: frames, boxes (with an id, that count), crossings and "
                 "uncertain-crossings of all lines, visits of all zones. now is the number of "
                 "objects in zones, objects that of objects that are followed, "
                 "time-per-frame-us the mean time of this element. lines and zones are lists with "
                 "the name and the numbers of each.");

  describe(klass, "Object counter", "Filter/Analyzer/Video",
           "Counts tracked objects (GstAnalyticsTrackingMtd) that cross lines, and how many are in "
           "zones and for how long");
  add_video_templates(klass);
  transform->start = start;
  transform->stop = stop;
  transform->set_caps = set_caps;
  transform->sink_event = sink_event;
  transform->prepare_output_buffer = writable_with_tensors;
  transform->transform_ip = transform_ip;
}
