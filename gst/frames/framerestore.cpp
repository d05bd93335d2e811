// SPDX-License-Identifier: LGPL-2.1-or-later
// framerestore: restores the frame that framesave kept, with the boxes mapped to it.
#include <gst/video/video.h>

#include "core/formula/letterbox.h"
#include "gst/base/element.h"
#include "gst/base/error.h"
#include "gst/base/props.h"
#include "gst/frames/restore.h"
#include "gst/frames/tunnel.h"

/**
 * SECTION:element-framerestore
 * @title: framerestore
 *
 * Replaces a scaled frame with the full frame that framesave kept. Results of the scaled frame are
 * carried over: boxes, masks, tracks and regions of any decoder are mapped to the full frame.
 *
 * From GStreamer 1.28 on, elements report how the picture was scaled, cropped or flipped. For older
 * versions, and for scalers that do not report it, resize-mode defines how the frame was fitted.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=photo.jpg ! jpegdec ! framesave ! videoconvertscale
 *   ! video/x-raw,width=640,height=640,pixel-aspect-ratio=1/1 ! onnxinference model-file=model.onnx
 *   ! boxdecode ! framerestore ! boxsink
 * ]|
 *
 * Since: 0.1
 */

GST_DEBUG_CATEGORY_STATIC(framerestore_debug);
#define GST_CAT_DEFAULT framerestore_debug

namespace keepbox {
namespace {

struct RestoreProps {
  int resize_mode = static_cast<int>(ResizeMode::kLetterboxScaler);
};

const Property<RestoreProps> kRestoreProperties[] = {
    {"resize-mode",
     "How the frame was fitted into the model input, if GStreamer does not report it (1.28 and "
     "later do). letterbox-scaler is right for videoconvertscale, stretch for videoconvertscale "
     "add-borders=false.",
     &RestoreProps::resize_mode, resize_mode_type},
};

const PropertyTable<RestoreProps>& restore_properties() {
  static constexpr PropertyTable<RestoreProps> table(kRestoreProperties, kChangeWhilePlaying);
  return table;
}

struct State : TableProps<RestoreProps, restore_properties> {
  ~State() { reset(); }
  void reset();

  GstPad *sink = nullptr, *src = nullptr;
  // The streaming thread's own:
  FrameFormat scaled;       // input frames
  FrameFormat full;         // output frames
  GstCaps* caps = nullptr;  // of output frames; null before the first one
  HeldEvents held;          // sticky events that must follow those caps
  bool planes = false;      // downstream supports GstVideoMeta
  PostedError failed;
  bool warned = false;  // about missing transform metadata
};

void State::reset() {
  held.clear();
  gst_clear_caps(&caps);
  scaled = full = {};
  failed.clear();
  warned = planes = false;
}

}  // namespace
}  // namespace keepbox

KEEPBOX_DEFINE_ELEMENT(framerestore, KeepboxFrameRestore, keepbox_frame_restore, GstElement,
                       GST_TYPE_ELEMENT)

using namespace keepbox;

namespace {

/// Queries downstream's allocation, after caps and whenever downstream asks for reconfiguration.
void settle_allocation(State& r) {
  GstQuery* query = gst_query_new_allocation(r.caps, FALSE);
  r.planes = gst_pad_peer_query(r.src, query) &&
             gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  gst_query_unref(query);
}

/// Sends the caps of the restored frames, and then the events that must follow them.
void announce(State& r, GstCaps* caps) {
  if (r.caps != nullptr && (r.caps == caps || gst_caps_is_equal(r.caps, caps))) {
    if (gst_pad_check_reconfigure(r.src)) settle_allocation(r);
    return;
  }
  gst_caps_replace(&r.caps, caps);
  r.full = frame_format(caps).value_or(FrameFormat{});
  gst_pad_push_event(r.src, gst_event_new_caps(caps));
  r.held.push_to(r.src);
  gst_pad_check_reconfigure(r.src);
  settle_allocation(r);
}

void refuse_caps(KeepboxFrameRestore* self, const State& r) {
  g_autofree gchar* caps = gst_caps_to_string(r.caps);
  post_error(
      GST_ELEMENT(self),
      problem(ErrorKind::kMismatch,
              std::string("The element after framerestore rejects the saved frames: ") + caps,
              "put videoconvert between them"));
}

GstFlowReturn refuse_frame(KeepboxFrameRestore* self) {
  self->state->failed.post(
      GST_ELEMENT(self),
      problem(ErrorKind::kMismatch, "The buffer carries no frame saved by framesave",
              "put framesave before the scaler, and remove elements in between that drop metas"));
  return GST_FLOW_ERROR;
}

ResizeMode mode_of(KeepboxFrameRestore* self) {
  return static_cast<ResizeMode>(locked_copy(self, self->state->props.resize_mode));
}

/// Returns the map to the full frame; falls back to resize-mode, with one warning, if an element in
/// between dropped the transform metadata.
PixelMap map_to_full(KeepboxFrameRestore* self, GstBuffer* scaled) {
  State& r = *self->state;
  const ResizeMode mode = mode_of(self);
  auto map = map_from_saved(scaled, r.scaled.picture, mode);
  if (!map) {
    map = PixelMap::of(make_letterbox(r.full.picture, r.scaled.picture, mode));
    if (!r.warned)
      post_warning(GST_ELEMENT(self),
                   problem(ErrorKind::kMismatch,
                           "An element after framesave drops the transform metadata (such as a "
                           "crop or flip before GStreamer 1.28)",
                           "boxes are mapped by resize-mode= instead, which is correct only if "
                           "frames were scaled and nothing else"));
    r.warned = true;
  }
  if (auto back = map->inverse()) return *back;
  return PixelMap();
}

GstFlowReturn chain(GstPad*, GstObject* parent, GstBuffer* input) {
  KeepboxFrameRestore* self = Self::cast(parent);
  State& r = *self->state;
  g_autoptr(GstBuffer) scaled = input;
  const SavedFrame saved = get_saved_frame(scaled);
  if (saved.caps == nullptr || r.scaled.picture.size.width == 0) return refuse_frame(self);
  announce(r, saved.caps);
  const PixelMap map = map_to_full(self, scaled);
  GstBuffer* output = take_frame(&scaled);
  transfer_metas(scaled, r.scaled, output, r.full, map, mode_of(self));
  // Release the last other reference, so that downstream can draw on the frame without a copy.
  gst_clear_buffer(&scaled);
  if (!r.planes) output = with_plain_planes(output, r.full);
  const GstFlowReturn flow = gst_pad_push(r.src, output);
  if (flow == GST_FLOW_NOT_NEGOTIATED) refuse_caps(self, r);
  return flow;
}

gboolean take_caps(KeepboxFrameRestore* self, GstEvent* event) {
  GstCaps* caps = nullptr;
  gst_event_parse_caps(event, &caps);
  const auto scaled = frame_format(caps);
  if (scaled) {
    self->state->scaled = *scaled;
  } else {
    g_autofree gchar* found = gst_caps_to_string(caps);
    post_error(
        GST_ELEMENT(self),
        problem(ErrorKind::kMismatch, std::string("The caps have no width and height: ") + found,
                "put framerestore after an element that sets the size"));
  }
  gst_event_unref(event);
  return scaled.has_value();
}

/// True if the event must follow the caps of the full frames.
bool has_to_wait(const State& r, GstEvent* event) {
  return r.caps == nullptr && GST_EVENT_IS_SERIALIZED(event) && GST_EVENT_IS_STICKY(event) &&
         GST_EVENT_TYPE(event) > GST_EVENT_CAPS;
}

gboolean sink_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  State& r = Self::of(parent);
  if (GstCaps* caps = saved_caps_of(event)) {
    announce(r, caps);
    gst_event_unref(event);
    return TRUE;
  }
  event = untunnel_event(event);  // from an enclosing pair
  if (r.failed.take(event)) return TRUE;
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_CAPS: return take_caps(Self::cast(parent), event);
    case GST_EVENT_FLUSH_STOP: r.held.drop_segments(); break;
    case GST_EVENT_EOS: r.held.push_to(r.src); break;
    default:
      if (has_to_wait(r, event)) {
        r.held.add(event);
        return TRUE;
      }
  }
  return gst_pad_event_default(pad, parent, event);
}

/// Forwards queries past the pair: downstream's answers apply to the restored frames.
gboolean sink_query(GstPad* pad, GstObject* parent, GstQuery* query) {
  switch (GST_QUERY_TYPE(query)) {
    case GST_QUERY_ALLOCATION: return FALSE;
    case GST_QUERY_CAPS: {
      GstCaps* filter = nullptr;
      gst_query_parse_caps(query, &filter);
      g_autoptr(GstCaps) any = gst_pad_get_pad_template_caps(pad);
      g_autoptr(GstCaps) result =
          filter != nullptr ? gst_caps_intersect_full(filter, any, GST_CAPS_INTERSECT_FIRST)
                            : gst_caps_ref(any);
      gst_query_set_caps_result(query, result);
      return TRUE;
    }
    case GST_QUERY_ACCEPT_CAPS: gst_query_set_accept_caps_result(query, TRUE); return TRUE;
    default: {
      gboolean result = FALSE;
      return answer_tunnelled_query(Self::of(parent).src, query, result)
                 ? result
                 : gst_pad_query_default(pad, parent, query);
    }
  }
}

/// Answers caps queries with the caps that framesave accepts, as no others can come out.
gboolean src_query(GstPad* pad, GstObject* parent, GstQuery* query) {
  const State& r = Self::of(parent);
  gboolean result = FALSE;
  if (GST_QUERY_TYPE(query) == GST_QUERY_CAPS && tunnel_query(r.sink, query)) return TRUE;
  return tunnel_enclosing_query(r.sink, query, result) ? result
                                                       : gst_pad_query_default(pad, parent, query);
}

/// Forwards requests for new caps to framesave's neighbour, not to the scaler.
gboolean src_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  event = GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE ? tunnel_event(event)
                                                         : tunnel_enclosing_event(event);
  return gst_pad_event_default(pad, parent, event);
}

GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  const auto result = Self::parent_as<GstElementClass>()->change_state(element, change);
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) Self::of(element).reset();
  return result;
}

}  // namespace

static void keepbox_frame_restore_init(KeepboxFrameRestore* self) {
  self->make_state();
  State* r = self->state;
  r->sink = add_pad(GST_ELEMENT(self), "sink");
  r->src = add_pad(GST_ELEMENT(self), "src");
  gst_pad_set_chain_function(r->sink, chain);
  gst_pad_set_event_function(r->sink, sink_event);
  gst_pad_set_query_function(r->sink, sink_query);
  gst_pad_set_query_function(r->src, src_query);
  gst_pad_set_event_function(r->src, src_event);
}

static void keepbox_frame_restore_class_init(KeepboxFrameRestoreClass* klass) {
  auto* element = GST_ELEMENT_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(framerestore_debug, "framerestore", 0, "restoring of frames");
  Self::set_up(klass);
  element->change_state = change_state;
  restore_properties().install(G_OBJECT_CLASS(klass));
  describe(
      klass, "Frame restorer", "Filter/Video",
      "Replaces a scaled frame with the full frame that framesave kept, and maps its boxes through "
      "the resize");
  add_video_templates(klass);
}
