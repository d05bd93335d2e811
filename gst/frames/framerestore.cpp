// SPDX-License-Identifier: LGPL-2.1-or-later
// framerestore: brings the frame back that framesave kept, with the boxes mapped to it.
#include <gst/video/video.h>

#include <vector>

#include "core/letterbox.h"
#include "gst/base/elements.h"
#include "gst/base/enums.h"
#include "gst/base/error.h"
#include "gst/base/picture.h"
#include "gst/frames/framemeta.h"
#include "gst/metas/analytics.h"

GST_DEBUG_CATEGORY_STATIC(framerestore_debug);
#define GST_CAT_DEFAULT framerestore_debug

namespace keepbox {
namespace {

struct Restorer {
  GstPad *sink = nullptr, *src = nullptr;
  ResizeMode mode = ResizeMode::kLetterboxCenter;  // under the object lock
  // The streaming thread's own:
  Picture scaled;               // the frames that come in
  GstCaps* caps = nullptr;      // of the frames that go out; null before the first
  std::vector<GstEvent*> held;  // sticky events that have to wait for those caps
  std::vector<FrameBox> boxes;
  bool failed = false;
};

}  // namespace
}  // namespace keepbox

struct KeepboxFrameRestore {
  GstElement parent;
  keepbox::Restorer* restorer;
};
struct KeepboxFrameRestoreClass {
  GstElementClass parent_class;
};

using namespace keepbox;

GType keepbox_frame_restore_get_type();
G_DEFINE_TYPE(KeepboxFrameRestore, keepbox_frame_restore, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE(framerestore, "framerestore", GST_RANK_NONE,
                            keepbox_frame_restore_get_type())

namespace {

enum { kPropResizeMode = 1 };

KeepboxFrameRestore* cast(gpointer object) { return reinterpret_cast<KeepboxFrameRestore*>(object); }

void release_held(Restorer& r, bool push) {
  for (GstEvent* event : r.held) {
    if (push) gst_pad_push_event(r.src, event);
    else gst_event_unref(event);
  }
  r.held.clear();
}

/// A flush forgets segments and keeps the other sticky events, as pads do.
void drop_held_segments(Restorer& r) {
  std::erase_if(r.held, [](GstEvent* event) {
    if (GST_EVENT_TYPE(event) != GST_EVENT_SEGMENT) return false;
    gst_event_unref(event);
    return true;
  });
}

/// Announces the restored frames' caps, and then what had to wait for them.
void announce(Restorer& r, GstCaps* caps) {
  if (r.caps != nullptr && (r.caps == caps || gst_caps_is_equal(r.caps, caps))) return;
  gst_caps_replace(&r.caps, caps);
  gst_pad_push_event(r.src, gst_event_new_caps(caps));
  release_held(r, true);
}

/// Boxes of the scaled frame, on the restored one; those outside it are left out.
void map_boxes(Restorer& r, GstBuffer* from, const Letterbox& map) {
  read_boxes(from, r.boxes);
  std::erase_if(r.boxes, [&](FrameBox& box) {
    box.box = clip(map.to_frame(box.box), map.frame);
    return is_empty(box.box);
  });
}

void refuse_caps(KeepboxFrameRestore* self, const Restorer& r) {
  g_autofree gchar* caps = gst_caps_to_string(r.caps);
  post_error(GST_ELEMENT(self),
             {ErrorKind::kMismatch, "an element after framerestore that takes the saved frames",
              std::string("one that refuses ") + caps, "put videoconvert between them"});
}

GstFlowReturn chain(GstPad*, GstObject* parent, GstBuffer* input) {
  KeepboxFrameRestore* self = cast(parent);
  Restorer& r = *self->restorer;
  g_autoptr(GstBuffer) scaled = input;
  const SavedFrame saved = get_saved_frame(scaled);
  const auto frame = saved.caps != nullptr ? picture_of(saved.caps) : std::nullopt;
  if (!frame || r.scaled.size.width == 0) {
    post_error(GST_ELEMENT(self),
               {ErrorKind::kMismatch, "a frame that framesave kept", "none on this buffer",
                "put framesave before the scaler, and no element between that drops metas"});
    r.failed = true;
    return GST_FLOW_ERROR;
  }
  GST_OBJECT_LOCK(self);
  const ResizeMode mode = r.mode;
  GST_OBJECT_UNLOCK(self);
  map_boxes(r, scaled, make_letterbox(*frame, r.scaled, mode));
  announce(r, saved.caps);
  GstBuffer* output = gst_buffer_copy(saved.frame);
  gst_buffer_copy_into(output, scaled, GST_BUFFER_COPY_TIMESTAMPS, 0, static_cast<gsize>(-1));
  attach_boxes(output, r.boxes, {.regions = has_regions(scaled), .frame = frame->size});
  const GstFlowReturn flow = gst_pad_push(r.src, output);
  if (flow == GST_FLOW_NOT_NEGOTIATED) refuse_caps(self, r);
  return flow;
}

gboolean sink_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  Restorer& r = *cast(parent)->restorer;
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_CAPS: {
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event, &caps);
      r.scaled = picture_of(caps).value_or(Picture{});
      gst_event_unref(event);
      return TRUE;
    }
    case GST_EVENT_FLUSH_STOP:
      drop_held_segments(r);
      r.failed = false;
      break;
    case GST_EVENT_GAP:
      if (r.caps != nullptr) break;
      gst_event_unref(event);  // there is nothing yet that it could be a gap in
      return TRUE;
    case GST_EVENT_EOS:
      if (r.failed) {  // what a source says after an error is no end of the stream
        gst_event_unref(event);
        return TRUE;
      }
      release_held(r, true);
      break;
    default:
      if (r.caps == nullptr && GST_EVENT_IS_SERIALIZED(event) && GST_EVENT_IS_STICKY(event) &&
          GST_EVENT_TYPE(event) > GST_EVENT_CAPS) {
        r.held.push_back(event);
        return TRUE;
      }
  }
  return gst_pad_event_default(pad, parent, event);
}

/// Downstream's wishes concern the restored frames, not those that come in here.
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
    default: return gst_pad_query_default(pad, parent, query);
  }
}

void reset(Restorer& r) {
  release_held(r, false);
  gst_clear_caps(&r.caps);
  r.scaled = {};
  r.failed = false;
}

GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  const auto result =
      GST_ELEMENT_CLASS(keepbox_frame_restore_parent_class)->change_state(element, change);
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) reset(*cast(element)->restorer);
  return result;
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  if (id != kPropResizeMode) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    return;
  }
  GST_OBJECT_LOCK(object);
  cast(object)->restorer->mode = static_cast<ResizeMode>(g_value_get_enum(value));
  GST_OBJECT_UNLOCK(object);
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  if (id != kPropResizeMode) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    return;
  }
  GST_OBJECT_LOCK(object);
  g_value_set_enum(value, static_cast<int>(cast(object)->restorer->mode));
  GST_OBJECT_UNLOCK(object);
}

void finalize(GObject* object) {
  reset(*cast(object)->restorer);
  delete cast(object)->restorer;
  G_OBJECT_CLASS(keepbox_frame_restore_parent_class)->finalize(object);
}

}  // namespace

static void keepbox_frame_restore_init(KeepboxFrameRestore* self) {
  auto* r = self->restorer = new Restorer;
  auto* klass = GST_ELEMENT_GET_CLASS(self);
  r->sink = gst_pad_new_from_template(gst_element_class_get_pad_template(klass, "sink"), "sink");
  r->src = gst_pad_new_from_template(gst_element_class_get_pad_template(klass, "src"), "src");
  gst_pad_set_chain_function(r->sink, chain);
  gst_pad_set_event_function(r->sink, sink_event);
  gst_pad_set_query_function(r->sink, sink_query);
  gst_pad_use_fixed_caps(r->src);
  gst_element_add_pad(GST_ELEMENT(self), r->sink);
  gst_element_add_pad(GST_ELEMENT(self), r->src);
}

static void keepbox_frame_restore_class_init(KeepboxFrameRestoreClass* klass) {
  auto* object = G_OBJECT_CLASS(klass);
  auto* element = GST_ELEMENT_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(framerestore_debug, "framerestore", 0, "Restoring of frames");
  object->set_property = set_property;
  object->get_property = get_property;
  object->finalize = finalize;
  element->change_state = change_state;
  g_object_class_install_property(
      object, kPropResizeMode,
      g_param_spec_enum(
          "resize-mode", "resize-mode",
          "How the frame was fitted into the model's input. letterbox-center is right for "
          "videoconvertscale to within a pixel of that input, letterbox-scaler exactly, stretch "
          "with its add-borders=false.",
          resize_mode_type(), static_cast<int>(ResizeMode::kLetterboxCenter),
          static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                   GST_PARAM_MUTABLE_PLAYING)));
  gst_element_class_set_static_metadata(
      element, "Frame restorer", "Filter/Video",
      "Replaces a scaled frame by the one that framesave kept, and maps its boxes through the "
      "resize",
      "The keepbox developers");
  add_video_templates(element);
}
