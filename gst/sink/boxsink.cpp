// SPDX-License-Identifier: LGPL-2.1-or-later
// boxsink: writes the boxes on frames to a file.
/**
 * SECTION:element-boxsink
 * @title: boxsink
 *
 * Accepts video frames of any format and memory, and writes the boxes attached to them by any
 * decoder (#GstAnalyticsODMtd). Boxes of boxdecode are written with subpixel coordinates, class
 * number, score and model name; boxes of other decoders with the data in that meta. The file is
 * complete, and has its final name, at EOS. With max-file-time or max-file-size, files are finished
 * while the stream runs. An element message "boxsink-file-finished" with the field "location"
 * (string) is posted for each file that has its final name, except the files of single frames.
 *
 * Keypoints and masks are written in JSON Lines and COCO results, angles in formats that support
 * them; other formats have the upright box around an oriented one.
 *
 * Times are stream time in nanoseconds. Frame numbers count buffers.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=photo.jpg ! jpegdec ! framesave ! videoconvertscale
 *     ! video/x-raw,width=416,height=416,pixel-aspect-ratio=1/1
 *     ! onnxinference model-file=model.onnx ! boxdecode label-file=coco.labels ! framerestore
 *     ! boxsink format=coco location=results.json
 * ]| Boxes of a photo as COCO results. If the label file has the names of COCO's 80 classes, they
 * get COCO's category ids, and pycocotools can evaluate them directly.
 *
 * Since: 0.1
 */
#include <gst/base/gstbasesink.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "gst/base/element.h"
#include "gst/base/error.h"
#include "gst/base/queries.h"
#include "gst/sink/classes.h"
#include "gst/sink/files.h"
#include "gst/sink/frameinfo.h"

GST_DEBUG_CATEGORY_STATIC(boxsink_debug);
#define GST_CAT_DEFAULT boxsink_debug

namespace keepbox {
namespace {

struct State : TableProps<SinkProps, sink_properties> {
  Interrupt interrupt;  // set when GStreamer needs the streaming thread back
  // The streaming thread's own:
  Size frame;
  std::optional<Session> session;
  BoxReader reader;
  std::string text;
};

}  // namespace
}  // namespace keepbox

using KeepboxBoxSink = keepbox::Instance<GstBaseSink, keepbox::State>;
using KeepboxBoxSinkClass = GstBaseSinkClass;

using namespace keepbox;

GType keepbox_box_sink_get_type();
G_DEFINE_TYPE(KeepboxBoxSink, keepbox_box_sink, GST_TYPE_BASE_SINK)
GST_ELEMENT_REGISTER_DEFINE(boxsink, "boxsink", GST_RANK_NONE, keepbox_box_sink_get_type())

namespace {

using Self = KeepboxBoxSink;

/// Posts a message for each file that got its final name.
void report_files(KeepboxBoxSink* self, Session& session) {
  for (const std::string& path : session.finished) {
    GST_INFO_OBJECT(self, "finished %s", path.c_str());
    auto* report = gst_structure_new("boxsink-file-finished", "location", G_TYPE_STRING,
                                     utf8(path).c_str(), nullptr);
    gst_element_post_message(GST_ELEMENT(self), gst_message_new_element(GST_OBJECT(self), report));
  }
  session.finished.clear();
}

void report_messages(KeepboxBoxSink* self, Session& session) {
  report_files(self, session);
  post_warnings(GST_ELEMENT(self), session.take_warnings());
  const CategoryMessages report = session.writer.take_messages();
  for (const std::string& text : report.chosen) GST_INFO_OBJECT(self, "%s", text.c_str());
  for (const std::string& text : report.odd) GST_WARNING_OBJECT(self, "%s", text.c_str());
  post_warnings(GST_ELEMENT(self), report.wrong);
}

/// True if a tracker follows the boxes: one upstream, or any whose ids are on them.
bool follows(GstElement* self, Session& session, std::span<const FrameBox> boxes) {
  if (!std::exchange(session.looked_for_tracker, true)) session.tracked = is_tracked(self);
  session.tracked |=
      std::ranges::any_of(boxes, [](const FrameBox& box) { return box.tracking_id.has_value(); });
  return session.tracked;
}

Status write_frame(KeepboxBoxSink* self, Session& session, GstBuffer* buffer) {
  State& s = *self->state;
  if (session.ended) KB_TRY(session.resume());
  session.ended = false;
  session.props.source = locked_copy(self, self->state->props.source);
  FrameInfo info =
      frame_info(buffer, GST_BASE_SINK(self)->segment, session.props, s.frame, session.number);
  const auto boxes = s.reader.read(buffer, s.frame);
  info.skipped = s.reader.skipped().any();
  info.counts = counts_of(buffer);
  session.last_time = info.timestamp;
  const OutputFormat& format = session.props.output();
  if (format.tensors && !boxes.empty()) KB_TRY(add_tensors(info, buffer, session.props));
  if (format.tracked) info.tracked = follows(GST_ELEMENT(self), session, boxes);
  KB_TRY(session.write(info, boxes, s.text));
  report_messages(self, session);
  ++session.number;
  return {};
}

/// Writes what boxcount tells after the last frame, as at the end of its stream.
Status write_events(KeepboxBoxSink* self, Session& session, const FrameCounts& counts) {
  State& s = *self->state;
  if (session.ended || !session.props.output().events) return {};
  const FrameInfo info{.number = session.number,
                       .timestamp = session.last_time,
                       .size = s.frame,
                       .source = session.props.source,
                       .counts = &counts};
  return session.write(info, {}, s.text);
}

/// Posts an error, after which nothing is written until the next start.
bool check(KeepboxBoxSink* self, const Status& status) {
  if (status) return true;
  if (self->state->session) self->state->session->failed = true;
  post_error(GST_ELEMENT(self), status.error());
  return false;
}

/// Gives the file its final name, unless that is done or an error occurred.
bool finish(KeepboxBoxSink* self) {
  Session& session = *self->state->session;
  if (session.ended || session.failed) return !session.failed;
  session.ended = true;
  if (const auto missing_meta_warning = self->state->reader.missing_meta_warning("boxsink"))
    post_warning(GST_ELEMENT(self), *missing_meta_warning);
  const bool done = check(self, session.finish());
  report_files(self, session);
  return done;
}

/// Writes what is pending. A pause interrupts a write to a reader that does not read; the rest is
/// written when playing resumes. @pre the preroll lock is held.
GstFlowReturn write_rest(KeepboxBoxSink* self) {
  Session& session = *self->state->session;
  while (session.file && session.file->pending()) {
    const GstFlowReturn flow = gst_base_sink_wait_preroll(GST_BASE_SINK(self));
    if (flow != GST_FLOW_OK) return flow;
    if (!check(self, session.file->write({}))) return GST_FLOW_ERROR;
  }
  return GST_FLOW_OK;
}

gboolean unlock(GstBaseSink* base) {
  Self::of(base).interrupt.set(true);
  return TRUE;
}

gboolean unlock_stop(GstBaseSink* base) {
  Self::of(base).interrupt.set(false);
  return TRUE;
}

gboolean start(GstBaseSink* base) {
  KeepboxBoxSink* self = Self::cast(base);
  const SinkProps props = locked_copy(self, self->state->props);
  self->state->interrupt.set(true);  // do not wait for a reader while starting
  auto session = Session::open(props, self->state->interrupt);
  self->state->interrupt.set(false);
  if (!session) return check(self, std::unexpected(session.error()));
  report_messages(self, self->state->session.emplace(std::move(*session)));
  return TRUE;
}

gboolean stop(GstBaseSink* base) {
  KeepboxBoxSink* self = Self::cast(base);
  if (!self->state->session) return TRUE;
  Session& session = *self->state->session;
  const guint64 frames = self->state->reader.frames();
  bool done = true;
  self->state->interrupt.set(true);  // do not wait for a reader any longer
  // Without EOS the file may be incomplete, so it keeps its .part name.
  const bool incomplete = !session.ended && !session.failed && !session.unnamed().empty();
  if (!incomplete) done = finish(self);
  else if (!session.discard_empty(frames))
    GST_WARNING_OBJECT(self, "stopped before EOS: the boxes so far are in %s",
                       session.unnamed().c_str());
  GST_INFO_OBJECT(self, "%" G_GUINT64_FORMAT " frames written%s", frames,
                  done ? "" : ", incomplete");
  self->state->session.reset();
  self->state->reader = {};
  return done;
}

gboolean set_caps(GstBaseSink* base, GstCaps* caps) {
  const auto picture = picture_of(caps);
  if (!picture) return FALSE;
  Self::of(base).frame = picture->size;
  return TRUE;
}

GstFlowReturn render(GstBaseSink* base, GstBuffer* buffer) {
  KeepboxBoxSink* self = Self::cast(base);
  Session& session = *self->state->session;
  const bool done = !session.failed && check(self, write_frame(self, session, buffer));
  return done ? write_rest(self) : GST_FLOW_ERROR;
}

/// Completes the file, even if a slow reader delays it. GStreamer holds the preroll lock.
bool end(KeepboxBoxSink* self) { return finish(self) && write_rest(self) == GST_FLOW_OK; }

gboolean handle_event(GstBaseSink* base, GstEvent* event) {
  KeepboxBoxSink* self = Self::cast(base);
  if (const auto counts = counts_of_event(event); counts && self->state->session)
    check(self, write_events(self, *self->state->session, *counts));
  // An incomplete file must not be reported as complete by EOS.
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS && self->state->session && !end(self)) {
    gst_event_unref(event);
    return FALSE;
  }
  return GST_BASE_SINK_CLASS(keepbox_box_sink_parent_class)->event(base, event);
}

}  // namespace

static void keepbox_box_sink_init(KeepboxBoxSink* self) {
  self->make_state();
  auto* base = GST_BASE_SINK(self);
  gst_base_sink_set_sync(base, FALSE);
  gst_base_sink_set_qos_enabled(base, FALSE);
  gst_base_sink_set_last_sample_enabled(base, FALSE);  // the last sample would hold a pool's frame
}

static void keepbox_box_sink_class_init(KeepboxBoxSinkClass* klass) {
  auto* element = GST_ELEMENT_CLASS(klass);
  auto* sink = GST_BASE_SINK_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(boxsink_debug, "boxsink", 0, "writing of detections");

  Self::set_up(klass);
  sink_properties().install(G_OBJECT_CLASS(klass));

  gst_element_class_set_static_metadata(
      element, "Detection box sink", "Sink/Analyzer/Video",
      "Writes the boxes on frames (GstAnalyticsODMtd of any decoder) to a file as JSON Lines, COCO "
      "results, MOT, KITTI, DOTA or CSV, and what boxcount counted",
      "The keepbox developers");
  g_autoptr(GstCaps) caps = gst_caps_from_string("video/x-raw(ANY)");
  gst_element_class_add_pad_template(
      element, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  sink->start = start;
  sink->stop = stop;
  sink->set_caps = set_caps;
  sink->render = render;
  sink->event = handle_event;
  sink->unlock = unlock;
  sink->unlock_stop = unlock_stop;
}
