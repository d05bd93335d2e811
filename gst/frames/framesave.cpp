// SPDX-License-Identifier: LGPL-2.1-or-later
// framesave: keeps the full-resolution frame before it is scaled for the model.
#include <memory>
#include <utility>

#include "gst/base/element.h"
#include "gst/base/error.h"
#include "gst/base/props.h"
#include "gst/frames/keptframes.h"
#include "gst/frames/tunnel.h"
#include "gst/metas/relationmeta.h"
#include "gst/tensors/tensors.h"

/**
 * SECTION:element-framesave
 * @title: framesave
 *
 * Keeps each frame with its boxes and sends on a copy without boxes that shares the pixels.
 * framerestore restores the frame, with the results of detection on the scaled copy.
 *
 * Queues between the two count only the scaled frames. The size of the full ones is limited by
 * #framesave:max-size-bytes: further frames wait until one reaches framerestore or is dropped. If
 * none does in 10 seconds although the pipeline is not paused, as with an encoder that looks ahead,
 * a warning is posted and more frames pass.
 *
 * Caps, allocation and reconfiguration are negotiated with framerestore's neighbour as well as with
 * the scaler, because both get the frames.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=30 ! video/x-raw,width=1280,height=720 ! framesave
 *   ! videoconvertscale ! video/x-raw,width=640,height=640,pixel-aspect-ratio=1/1
 *   ! framerestore ! autovideosink
 * ]|
 *
 * Since: 0.1
 */

GST_DEBUG_CATEGORY_STATIC(framesave_debug);
#define GST_CAT_DEFAULT framesave_debug

namespace keepbox {
namespace {

enum { kPropMaxSizeBytes = 1 };

struct State {
  ~State() { gst_clear_caps(&caps); }
  bool set(guint id, const GValue* value) {
    if (id == kPropMaxSizeBytes) kept->set_limit(g_value_get_uint64(value));
    return id == kPropMaxSizeBytes;
  }
  bool get(guint id, GValue* value) const {
    if (id == kPropMaxSizeBytes) g_value_set_uint64(value, kept->limit());
    return id == kPropMaxSizeBytes;
  }

  GstPad *sink = nullptr, *src = nullptr;
  std::shared_ptr<KeptFrames> kept = std::make_shared<KeptFrames>();
  // The streaming thread's own:
  GstCaps* caps = nullptr;  // of the frames
  Picture picture;          // of those caps
  bool announce = false;    // the caps must still be announced to framerestore
};

}  // namespace
}  // namespace keepbox

KEEPBOX_DEFINE_ELEMENT(framesave, KeepboxFrameSave, keepbox_frame_save, GstElement,
                       GST_TYPE_ELEMENT)

using namespace keepbox;

namespace {

/// Drops metas that belong to the full frame only: boxes would be scaled without the letterbox,
/// tensors are decoded before or after the pair, and an earlier saved frame is already on this one.
gboolean keep_meta(GstBuffer*, GstMeta** meta, gpointer) {
  const GType api = (*meta)->info->api;
  if (is_analytics(api) || is_saved_frame(api) || holds_tensors(api)) *meta = nullptr;
  return TRUE;
}

/// True unless the pipeline was paused, when frames stay. In preroll, downstream may need more
/// frames than the limit before it returns any.
bool is_expected_to_flow(KeepboxFrameSave* self) {
  if (GST_STATE(self) == GST_STATE_PLAYING) return true;
  g_autoptr(GstObject) top = GST_OBJECT(gst_object_ref(self));
  while (GstObject* parent = gst_object_get_parent(top)) {
    gst_object_unref(top);
    top = parent;
  }
  return gst_element_get_state(GST_ELEMENT(top), nullptr, nullptr, 0) == GST_STATE_CHANGE_ASYNC;
}

/// @return true to let more frames pass.
bool report_late(KeepboxFrameSave* self, bool first) {
  if (!is_expected_to_flow(self)) return false;
  if (!first) return true;
  g_autofree gchar* limit = g_format_size_full(self->state->kept->limit(), G_FORMAT_SIZE_IEC_UNITS);
  post_warning(GST_ELEMENT(self),
               problem(ErrorKind::kMismatch,
                       std::string("No saved frame reached framerestore in 10 s, and ") + limit +
                           " of them are kept",
                       "more frames pass from now on; raise max-size-bytes= if an element after "
                       "framesave collects frames"));
  return true;
}

/// Sends on a shallow copy that holds the frame itself. GStreamer copies shared memory before it is
/// written to, so the saved frame does not change.
GstFlowReturn chain(GstPad*, GstObject* parent, GstBuffer* frame) {
  KeepboxFrameSave* self = Self::cast(parent);
  if (self->state->caps == nullptr) {
    gst_buffer_unref(frame);
    return GST_FLOW_NOT_NEGOTIATED;
  }
  auto place = self->state->kept->keep(gst_buffer_get_size(frame),
                                       [self](bool first) { return report_late(self, first); });
  if (place == nullptr) {
    gst_buffer_unref(frame);
    return GST_FLOW_FLUSHING;
  }
  GstBuffer* copy = gst_buffer_copy(frame);
  gst_buffer_foreach_meta(copy, keep_meta, nullptr);
  add_saved_frame(copy, {frame, self->state->caps}, self->state->picture, std::move(place));
  gst_buffer_unref(frame);
  return gst_pad_push(self->state->src, copy);
}

gboolean take_caps(KeepboxFrameSave* self, GstCaps* caps) {
  const auto picture = picture_of(caps);
  if (!picture) {
    g_autofree gchar* found = gst_caps_to_string(caps);
    post_error(
        GST_ELEMENT(self),
        problem(ErrorKind::kMismatch, std::string("The caps have no width and height: ") + found,
                "put framesave after an element that sets the size"));
    return FALSE;
  }
  gst_caps_replace(&self->state->caps, caps);
  self->state->picture = *picture;
  self->state->announce = true;
  return TRUE;
}

/// Sends the caps event, after the segment: sticky events have an order.
void announce_caps(KeepboxFrameSave* self) {
  if (!self->state->announce || self->state->caps == nullptr) return;
  self->state->announce = false;
  gst_pad_push_event(self->state->src, saved_caps_event(self->state->caps));
}

gboolean sink_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  KeepboxFrameSave* self = Self::cast(parent);
  const GstEventType type = GST_EVENT_TYPE(event);
  if (type == GST_EVENT_CAPS) {
    GstCaps* caps = nullptr;
    gst_event_parse_caps(event, &caps);
    if (!take_caps(self, caps)) {
      gst_event_unref(event);
      return FALSE;
    }
  }
  if (type == GST_EVENT_FLUSH_START || type == GST_EVENT_FLUSH_STOP)
    self->state->kept->set_stopped(type == GST_EVENT_FLUSH_START);
  if (GST_EVENT_IS_SERIALIZED(event) && type > GST_EVENT_SEGMENT) announce_caps(self);
  const gboolean done = gst_pad_event_default(pad, parent, tunnel_enclosing_event(event));
  g_autoptr(GstEvent) segment = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
  if ((type == GST_EVENT_CAPS && segment != nullptr) || type == GST_EVENT_SEGMENT)
    announce_caps(self);
  return done;
}

/// Returns the scaler's caps that framerestore's neighbour accepts too, in the neighbour's order,
/// because scalers list first what they would not have to scale.
GstCaps* accepted_caps(KeepboxFrameSave* self, GstCaps* filter) {
  GstCaps* scaled = gst_caps_simplify(gst_pad_peer_query_caps(self->state->src, filter));
  GstQuery* query = gst_query_new_caps(filter);
  GstCaps* restored = nullptr;
  if (tunnel_query(self->state->src, query)) {
    gst_query_parse_caps_result(query, &restored);
    GstCaps* both = gst_caps_intersect_full(restored, scaled, GST_CAPS_INTERSECT_FIRST);
    gst_caps_replace(&scaled, both);
    gst_caps_unref(both);
  }
  gst_query_unref(query);
  return scaled;
}

gboolean accepts(KeepboxFrameSave* self, GstCaps* caps) {
  if (!gst_pad_peer_query_accept_caps(self->state->src, caps)) return FALSE;
  GstQuery* query = gst_query_new_accept_caps(caps);
  gboolean accepted = TRUE;
  if (tunnel_query(self->state->src, query)) gst_query_parse_accept_caps_result(query, &accepted);
  gst_query_unref(query);
  return accepted;
}

gboolean answer_allocation(KeepboxFrameSave* self, GstQuery* query) {
  GstCaps* caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  if (caps == nullptr) return FALSE;
  const Allocation scaler(caps), restored(caps);
  if (!gst_pad_peer_query(self->state->src, scaler.query) ||
      !tunnel_query(self->state->src, restored.query))
    return FALSE;
  combine(query, scaler, restored);
  return TRUE;
}

gboolean sink_query(GstPad* pad, GstObject* parent, GstQuery* query) {
  KeepboxFrameSave* self = Self::cast(parent);
  gboolean result = FALSE;
  GstCaps* caps = nullptr;
  switch (GST_QUERY_TYPE(query)) {
    case GST_QUERY_CAPS: {
      gst_query_parse_caps(query, &caps);
      g_autoptr(GstCaps) accepted = accepted_caps(self, caps);
      gst_query_set_caps_result(query, accepted);
      return TRUE;
    }
    case GST_QUERY_ACCEPT_CAPS:
      gst_query_parse_accept_caps(query, &caps);
      gst_query_set_accept_caps_result(query, accepts(self, caps));
      return TRUE;
    case GST_QUERY_ALLOCATION: return answer_allocation(self, query);
    default:
      return tunnel_enclosing_query(self->state->src, query, result)
                 ? result
                 : gst_pad_query_default(pad, parent, query);
  }
}

gboolean src_query(GstPad* pad, GstObject* parent, GstQuery* query) {
  gboolean result = FALSE;
  return answer_tunnelled_query(Self::of(parent).sink, query, result)
             ? result
             : gst_pad_query_default(pad, parent, query);
}

gboolean src_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  return gst_pad_event_default(pad, parent, untunnel_event(event));
}

GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED) Self::of(element).kept->start();
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) Self::of(element).kept->set_stopped(true);
  const auto result = Self::parent_as<GstElementClass>()->change_state(element, change);
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) gst_clear_caps(&Self::of(element).caps);
  return result;
}

}  // namespace

static void keepbox_frame_save_init(KeepboxFrameSave* self) {
  self->make_state();
  State& s = *self->state;
  s.sink = add_pad(GST_ELEMENT(self), "sink");
  s.src = add_pad(GST_ELEMENT(self), "src");
  gst_pad_set_chain_function(s.sink, chain);
  gst_pad_set_event_function(s.sink, sink_event);
  gst_pad_set_query_function(s.sink, sink_query);
  gst_pad_set_query_function(s.src, src_query);
  gst_pad_set_event_function(s.src, src_event);
  GST_PAD_SET_PROXY_CAPS(s.sink);
  GST_PAD_SET_PROXY_CAPS(s.src);
}

static void keepbox_frame_save_class_init(KeepboxFrameSaveClass* klass) {
  auto* element = GST_ELEMENT_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(framesave_debug, "framesave", 0, "saving of frames");
  Self::set_up(klass);
  element->change_state = change_state;
  g_object_class_install_property(
      G_OBJECT_CLASS(klass), kPropMaxSizeBytes,
      g_param_spec_uint64(
          "max-size-bytes", nick_of("max-size-bytes"),
          "Maximum total size of kept frames in bytes, which the limits of queues in between do "
          "not include. Further frames wait until a kept one reaches framerestore or is dropped; "
          "if none does within 10 s, they pass with a warning. Four frames of any size always "
          "pass; 0 means no limit.",
          0, G_MAXUINT64, KeptFrames::kDefaultLimit, kChangeWhilePlaying));
  describe(klass, "Frame saver", "Filter/Video",
           "Keeps each frame with its boxes and sends a copy without boxes downstream, so that "
           "framerestore can restore the frame after detection on the scaled copy");
  add_video_templates(klass);
}
