// SPDX-License-Identifier: LGPL-2.1-or-later
// boxpublish: sends the boxes on frames to a message broker.
/**
 * SECTION:element-boxpublish
 * @title: boxpublish
 *
 * Publishes the boxes on frames (#GstAnalyticsODMtd of any decoder) by MQTT, and passes the frames
 * on unchanged, in any format and memory: the JSON objects that boxsink writes, numbers of objects
 * for dashboards and home automation, events of tracks, or what boxcount counts.
 *
 * A thread of its own connects and sends, so that the stream never waits for the network. While
 * there is no connection, messages are kept in a queue, on disk if queue-location is set; if it is
 * full, the oldest are dropped. It keeps reconnecting, with growing pauses. With qos=1 or 2, a
 * message leaves the queue when the broker has confirmed it.
 *
 * What is retained is the current state: it is published again after each new connection, and
 * numbers are 0 after the end of the stream. topic-availability has whether the element is
 * connected, and topic-camera whether frames arrive. Frames that a model skipped change no number
 * and end no track.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 ... ! boxdecode ! boxtrack ! boxpublish address=broker source=front
 *     what=counts,tracks ! fakesink
 * ]| Numbers in keepbox/front/counts/person and so on, and events in keepbox/front/tracks.
 *
 * Since: 0.2
 */
#include <gst/base/gstbasetransform.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gst/base/element.h"
#include "gst/base/error.h"
#include "gst/metas/counts.h"
#include "gst/publish/diskqueue.h"
#include "gst/publish/messages.h"
#include "gst/publish/mqttbroker.h"
#include "gst/publish/outbox.h"
#include "gst/publish/properties.h"
#include "gst/publish/sender.h"
#include "gst/sink/frameinfo.h"

GST_DEBUG_CATEGORY_STATIC(boxpublish_debug);
#define GST_CAT_DEFAULT boxpublish_debug

namespace keepbox {
namespace {

/// Objects that exist between start and stop.
struct Publishing {
  Publishing(PublishSettings settings, const PublishProps& all)
      : props(all),
        messages(std::move(settings), all),
        outbox({.messages = all.queue_size, .bytes = static_cast<uint64_t>(all.queue_bytes)}) {}

  PublishProps props;
  Messages messages;
  BoxReader reader;
  Outbox outbox;
  std::unique_ptr<Sender> sender;  // uses the outbox
  std::vector<Message> made;       // of a frame
  int64_t number = 0;              // of the next frame
  int64_t time = 0;                // running time of the last frame
  bool failed = false;
};

struct State : TableProps<PublishProps, publish_properties> {
  // The streaming thread's own:
  Size frame;
  int64_t interval = 0;  // of frames by the caps, in ns; 0 if unknown
  std::string stream;    // id
  // Under the object lock:
  std::shared_ptr<Publishing> running;
};

guint prop_stats;

}  // namespace
}  // namespace keepbox

KEEPBOX_DEFINE_ELEMENT(boxpublish, KeepboxBoxPublish, keepbox_box_publish, GstBaseTransform,
                       GST_TYPE_BASE_TRANSFORM)

using namespace keepbox;

namespace {

void send(Publishing& p) {
  for (Message& message : p.made) p.outbox.push(std::move(message));
  p.made.clear();
}

/// Publishes that there are no objects any more.
void finish(Publishing& p) {
  p.messages.finish(p.made);
  send(p);
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  State& s = Self::of(base);
  Publishing& p = *s.running;
  p.time = running_time_after(p.time, s.interval, base->segment, buffer);
  PublishedFrame frame{.info = frame_info(buffer, base->segment, p.props, s.frame, p.number++),
                       .boxes = p.reader.read(buffer, s.frame),
                       .skipped = p.reader.skipped(),
                       .time = static_cast<uint64_t>(p.time)};
  frame.info.skipped = frame.skipped.any();
  frame.info.counts = counts_of(buffer);
  const auto complete = [&](FrameInfo& info) { return add_tensors(info, buffer, p.props); };
  const Status made = p.messages.add(std::move(frame), p.made, complete);
  if (!made && !std::exchange(p.failed, true)) post_warning(GST_ELEMENT(base), made.error());
  if (const auto warning = p.messages.take_warning()) post_warning(GST_ELEMENT(base), *warning);
  send(p);
  if (p.messages.has_counts()) p.sender->counts_known();
  p.sender->camera().frame();
  return GST_FLOW_OK;
}

void end(GstBaseTransform* base) {
  Publishing& p = *Self::of(base).running;
  if (const auto missing_meta_warning = p.reader.missing_meta_warning("boxpublish"))
    post_warning(GST_ELEMENT(base), *missing_meta_warning);
  finish(p);
  p.sender->counts_known();
  p.sender->camera().end();
}

/// Publishes what boxcount tells after the last frame.
void add_events(Publishing& p, const FrameCounts& counts) {
  p.messages.add_events(counts, p.made);
  send(p);
}

/// Ends all tracks, because other frames follow.
void restart(Publishing& p) {
  p.messages.restart(p.made);
  send(p);
}

/// Notices another stream, whose tracking ids are other objects.
void follow_stream(State& s, GstEvent* event) {
  const gchar* id = nullptr;
  gst_event_parse_stream_start(event, &id);
  if (std::exchange(s.stream, id) != id) restart(*s.running);
}

/// Counts the time of a gap for streams whose frames have no times.
void follow_gap(Publishing& p, GstEvent* event) {
  GstClockTime from = 0, duration = 0;
  gst_event_parse_gap(event, &from, &duration);
  if (GST_CLOCK_TIME_IS_VALID(duration)) p.time += static_cast<int64_t>(duration);
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  State& s = Self::of(base);
  if (const auto counts = counts_of_event(event)) add_events(*s.running, *counts);
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_EOS: end(base); break;
    case GST_EVENT_FLUSH_STOP: restart(*s.running); break;
    case GST_EVENT_GAP: follow_gap(*s.running, event); break;
    case GST_EVENT_STREAM_START: follow_stream(s, event); break;
    default: break;
  }
  return Self::parent_as<GstBaseTransformClass>()->sink_event(base, event);
}

gboolean set_caps(GstBaseTransform* base, GstCaps* input, GstCaps*) {
  State& s = Self::of(base);
  s.interval = interval_of(input);
  return read_size(input, s.frame);
}

std::chrono::milliseconds milliseconds(gdouble seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

SenderSettings sender_settings(const PublishProps& props, const std::string& camera) {
  SenderSettings out{.longest_wait = milliseconds(props.max_reconnect_interval),
                     .camera_topic = camera,
                     .camera_timeout = milliseconds(props.camera_timeout)};
  out.first_wait = std::min(out.first_wait, out.longest_wait);
  return out;
}

/// The queue on disk, if there is one, and what it has.
struct Disk {
  std::optional<DiskQueue> queue;
  std::vector<DiskQueue::UnsentMessage> unsent;
};

Result<Disk> open_disk(const PublishProps& props) {
  Disk out;
  if (props.queue_location.empty()) return out;
  KB_ASSIGN(out.queue, DiskQueue::open(props.queue_location));
  KB_ASSIGN(out.unsent, out.queue->unsent());
  return out;
}

/// Returns what finds numbers of earlier runs on the broker and in the queue.
std::optional<StaleCounts> stale_counts(const PublishSettings& settings, const Disk& disk) {
  if (!settings.what.counts || !settings.retain.counts) return std::nullopt;
  StaleCounts out(settings.counts, settings.source, settings.broker.qos);
  for (const DiskQueue::UnsentMessage& message : disk.unsent) out.add(message.retained_topic);
  return out;
}

/// Adds the messages of earlier runs; of their numbers, only the last ones.
void take_over(Outbox& outbox, const Disk& disk, const PublishSettings& settings) {
  for (const auto& [number, bytes, topic] : disk.unsent)
    outbox.push_stored(number, bytes, topic, settings.counts.makes(topic, settings.source));
  outbox.drop_replaced();
}

Result<std::shared_ptr<Publishing>> begin(KeepboxBoxPublish* self, const PublishProps& props) {
  g_autofree gchar* name = gst_object_get_name(GST_OBJECT(self));
  KB_ASSIGN(auto settings, publish_settings(props, name));
  KB_ASSIGN(auto broker, MqttBroker::make(settings.broker));
  KB_ASSIGN(auto disk, open_disk(props));
  if (disk.queue)
    if (const auto warning = disk.queue->take_warning()) post_warning(GST_ELEMENT(self), *warning);
  auto stale = stale_counts(settings, disk);
  const SenderSettings sending = sender_settings(props, settings.camera);
  auto out = std::make_shared<Publishing>(settings, props);
  take_over(out->outbox, disk, settings);
  // Stopped before the element ends.
  out->sender = std::make_unique<Sender>(
      std::move(broker), out->outbox, std::move(disk.queue), std::move(stale), sending,
      [self](const Error& error) { post_warning(GST_ELEMENT(self), error); });
  return out;
}

gboolean start(GstBaseTransform* base) {
  KeepboxBoxPublish* self = Self::cast(base);
  auto running = begin(self, locked_copy(self, self->state->props));
  if (!running) {
    post_error(GST_ELEMENT(self), running.error());
    return FALSE;
  }
  self->state->interval = 0;
  self->state->stream.clear();
  GST_OBJECT_LOCK(self);
  self->state->running = std::move(*running);
  GST_OBJECT_UNLOCK(self);
  return TRUE;
}

Error lost_messages(size_t count, const std::string& folder) {
  if (folder.empty())
    return problem(ErrorKind::kNoResource,
                   std::to_string(count) + " messages were not delivered before the stop",
                   "set queue-location= to keep them, or raise stop-timeout=");
  return problem(ErrorKind::kNoResource,
                 std::to_string(count) + " messages were neither delivered before the stop nor " +
                     "stored in " + folder,
                 "make room there, or raise stop-timeout=");
}

/// Waits for messages to be delivered. The statistics stay as they are then.
gboolean stop(GstBaseTransform* base) {
  Publishing& p = *Self::of(base).running;
  finish(p);
  p.sender->stop(milliseconds(p.props.stop_timeout));
  if (const size_t lost = p.outbox.drop_unstored(); lost != 0)
    post_warning(GST_ELEMENT(base), lost_messages(lost, p.props.queue_location));
  return TRUE;
}

GstStructure* stats_of(const Publishing& p) {
  const guint64 queued = p.outbox.size();  // first, because the sender counts before it removes
  const SenderState state = p.sender->state();
  return gst_structure_new("boxpublish-stats", "connected", G_TYPE_BOOLEAN, state.connected,
                           "published", G_TYPE_UINT64, state.published, "queued", G_TYPE_UINT64,
                           queued, "dropped", G_TYPE_UINT64, p.outbox.dropped(), "connections",
                           G_TYPE_UINT64, state.connections, "last-error", G_TYPE_STRING,
                           state.last_error.c_str(), nullptr);
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  GST_OBJECT_LOCK(object);
  const bool known = Self::of(object).get(id, value);
  const std::shared_ptr<Publishing> running = Self::of(object).running;
  GST_OBJECT_UNLOCK(object);
  if (id == prop_stats)
    g_value_take_boxed(value,
                       running ? stats_of(*running) : gst_structure_new_empty("boxpublish-stats"));
  else if (!known) G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

}  // namespace

static void keepbox_box_publish_init(KeepboxBoxPublish* self) {
  self->make_state();
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), TRUE);
}

static void keepbox_box_publish_class_init(KeepboxBoxPublishClass* klass) {
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(boxpublish_debug, "boxpublish", 0, "publishing of boxes");

  Self::set_up(klass);
  G_OBJECT_CLASS(klass)->get_property = get_property;
  prop_stats = publish_properties().install(G_OBJECT_CLASS(klass));
  install_stats(G_OBJECT_CLASS(klass), prop_stats,
                "Counters since the start: published (messages that were delivered), queued, "
                "dropped (because the queue was full, because they cannot be sent, or at the stop) "
                "and connections. State of the connection: connected, last-error.");

  describe(
      klass, "Detection box publisher", "Filter/Analyzer/Video",
      "Publishes the boxes on frames (GstAnalyticsODMtd of any decoder) to an MQTT broker, as JSON "
      "objects, numbers or events of tracks, and passes the frames on unchanged");
  add_video_templates(klass);
  transform->start = start;
  transform->stop = stop;
  transform->set_caps = set_caps;
  transform->sink_event = sink_event;
  transform->transform_ip = transform_ip;
}
