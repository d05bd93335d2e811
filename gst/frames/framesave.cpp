// SPDX-License-Identifier: LGPL-2.1-or-later
// framesave: keeps the full-resolution frame before it is scaled for the model.
#include <algorithm>
#include <utility>

#include "gst/base/elements.h"
#include "gst/base/error.h"
#include "gst/base/picture.h"
#include "gst/frames/across.h"
#include "gst/frames/framemeta.h"
#include "gst/metas/analytics.h"
#include "gst/tensors/tensors.h"

/**
 * element-framesave:
 *
 * Keeps each frame with its boxes as it is and sends a copy without boxes on, whose pixels it
 * shares. framerestore brings the frame back, with what was found on the scaled copy.
 *
 * Caps, allocation and reconfiguration are settled with framerestore's neighbour as well as with the
 * scaler: both get the frames.
 *
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=30 ! video/x-raw,width=1280,height=720 ! framesave
 *   ! videoconvertscale ! video/x-raw,width=640,height=640,pixel-aspect-ratio=1/1
 *   ! framerestore ! autovideosink
 * ]|
 */

GST_DEBUG_CATEGORY_STATIC(framesave_debug);
#define GST_CAT_DEFAULT framesave_debug

struct KeepboxFrameSave {
  GstElement parent;
  GstPad *sink, *src;
  GstCaps* caps;            // of the frames, owned; the streaming thread's own
  keepbox::Picture picture;  // of those caps
  gboolean announce;         // the caps are still to be told to framerestore
};
struct KeepboxFrameSaveClass {
  GstElementClass parent_class;
};

using namespace keepbox;

GType keepbox_frame_save_get_type();
G_DEFINE_TYPE(KeepboxFrameSave, keepbox_frame_save, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE(framesave, "framesave", GST_RANK_NONE, keepbox_frame_save_get_type())

namespace {

KeepboxFrameSave* cast(gpointer object) { return reinterpret_cast<KeepboxFrameSave*>(object); }

/// Leaves behind what belongs to the frame as it is: boxes would be scaled without regard to a
/// letterbox and come back beside themselves, tensors are decoded before or behind the pair, and an
/// earlier saved frame is found on this one.
gboolean keep_meta(GstBuffer*, GstMeta** meta, gpointer) {
  const GType api = (*meta)->info->api;
  if (is_analytics(api) || is_saved_frame(api) || holds_tensors(api)) *meta = nullptr;
  return TRUE;
}

/// Sends a shallow copy on, which holds the frame itself: memory that is shared is copied by
/// GStreamer before anyone writes to it, so the saved frame stays as it was.
GstFlowReturn chain(GstPad*, GstObject* parent, GstBuffer* frame) {
  KeepboxFrameSave* self = cast(parent);
  if (self->caps == nullptr) {
    gst_buffer_unref(frame);
    return GST_FLOW_NOT_NEGOTIATED;
  }
  GstBuffer* copy = gst_buffer_copy(frame);
  gst_buffer_foreach_meta(copy, keep_meta, nullptr);
  add_saved_frame(copy, frame, self->caps, self->picture);
  gst_buffer_unref(frame);
  return gst_pad_push(self->src, copy);
}

gboolean take_caps(KeepboxFrameSave* self, GstCaps* caps) {
  const auto picture = picture_of(caps);
  if (!picture) {
    g_autofree gchar* found = gst_caps_to_string(caps);
    post_error(GST_ELEMENT(self), {ErrorKind::kMismatch, "video caps with width and height", found,
                                   "put an element before framesave that knows the size"});
    return FALSE;
  }
  gst_caps_replace(&self->caps, caps);
  self->picture = *picture;
  self->announce = TRUE;
  return TRUE;
}

/// Behind the segment: sticky events have their order.
void announce_caps(KeepboxFrameSave* self) {
  if (!self->announce || self->caps == nullptr) return;
  self->announce = FALSE;
  gst_pad_push_event(self->src, saved_caps_event(self->caps));
}

gboolean sink_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  KeepboxFrameSave* self = cast(parent);
  const GstEventType type = GST_EVENT_TYPE(event);
  if (type == GST_EVENT_CAPS) {
    GstCaps* caps = nullptr;
    gst_event_parse_caps(event, &caps);
    if (!take_caps(self, caps)) {
      gst_event_unref(event);
      return FALSE;
    }
  }
  if (GST_EVENT_IS_SERIALIZED(event) && type > GST_EVENT_SEGMENT) announce_caps(self);
  const gboolean done = gst_pad_event_default(pad, parent, deepen_across(event));
  g_autoptr(GstEvent) segment = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
  if ((type == GST_EVENT_CAPS && segment != nullptr) || type == GST_EVENT_SEGMENT)
    announce_caps(self);
  return done;
}

/// What the scaler takes, as far as framerestore's neighbour takes it too, in the neighbour's order:
/// a scaler puts first what it would not have to scale.
GstCaps* accepted_caps(KeepboxFrameSave* self, GstCaps* filter) {
  GstCaps* scaled = gst_caps_simplify(gst_pad_peer_query_caps(self->src, filter));
  GstQuery* query = gst_query_new_caps(filter);
  GstCaps* restored = nullptr;
  if (ask_across(self->src, query)) {
    gst_query_parse_caps_result(query, &restored);
    GstCaps* both = gst_caps_intersect_full(restored, scaled, GST_CAPS_INTERSECT_FIRST);
    gst_caps_replace(&scaled, both);
    gst_caps_unref(both);
  }
  gst_query_unref(query);
  return scaled;
}

gboolean accepts(KeepboxFrameSave* self, GstCaps* caps) {
  if (!gst_pad_peer_query_accept_caps(self->src, caps)) return FALSE;
  GstQuery* query = gst_query_new_accept_caps(caps);
  gboolean accepted = TRUE;
  if (ask_across(self->src, query)) gst_query_parse_accept_caps_result(query, &accepted);
  gst_query_unref(query);
  return accepted;
}

/// One neighbour's answer to an allocation query.
struct Allocation {
  explicit Allocation(GstCaps* caps) : query(gst_query_new_allocation(caps, FALSE)) {}
  ~Allocation() { gst_query_unref(query); }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  GstAllocationParams params() const {
    GstAllocationParams out;
    gst_allocation_params_init(&out);
    if (gst_query_get_n_allocation_params(query) > 0)
      gst_query_parse_nth_allocation_param(query, 0, nullptr, &out);
    return out;
  }
  std::pair<guint, guint> pool() const {  // bytes, buffers
    guint size = 0, least = 0;
    if (gst_query_get_n_allocation_pools(query) > 0)
      gst_query_parse_nth_allocation_pool(query, 0, nullptr, &size, &least, nullptr);
    return {size, least};
  }
  GstQuery* query;
};

/// What holds for both: metas that both know, the stricter alignment, and buffers for both, since
/// the full frame is kept while its copy is scaled. Neither's own pool: its memory goes to the other.
void combine(GstQuery* query, const Allocation& a, const Allocation& b) {
  for (guint i = 0; i < gst_query_get_n_allocation_metas(a.query); ++i) {
    const GstStructure* params = nullptr;
    const GType api = gst_query_parse_nth_allocation_meta(a.query, i, &params);
    if (gst_query_find_allocation_meta(b.query, api, nullptr))
      gst_query_add_allocation_meta(query, api, params);
  }
  GstAllocationParams params = a.params();
  const GstAllocationParams other = b.params();
  params.align = std::max(params.align, other.align);
  params.prefix = std::max(params.prefix, other.prefix);
  params.padding = std::max(params.padding, other.padding);
  gst_query_add_allocation_param(query, nullptr, &params);
  const auto [size, least] = a.pool();
  const auto [other_size, other_least] = b.pool();
  gst_query_add_allocation_pool(query, nullptr, std::max(size, other_size),
                                least + other_least + 1, 0);
}

gboolean answer_allocation(KeepboxFrameSave* self, GstQuery* query) {
  GstCaps* caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  if (caps == nullptr) return FALSE;
  const Allocation scaler(caps), restored(caps);
  if (!gst_pad_peer_query(self->src, scaler.query) || !ask_across(self->src, restored.query))
    return FALSE;
  combine(query, scaler, restored);
  return TRUE;
}

gboolean sink_query(GstPad* pad, GstObject* parent, GstQuery* query) {
  KeepboxFrameSave* self = cast(parent);
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
      return pass_across(self->src, query, result) ? result
                                                   : gst_pad_query_default(pad, parent, query);
  }
}

gboolean src_query(GstPad* pad, GstObject* parent, GstQuery* query) {
  gboolean result = FALSE;
  return answer_across(cast(parent)->sink, query, result)
             ? result
             : gst_pad_query_default(pad, parent, query);
}

gboolean src_event(GstPad* pad, GstObject* parent, GstEvent* event) {
  return gst_pad_event_default(pad, parent, unwrap_across(event));
}

GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  const auto result =
      GST_ELEMENT_CLASS(keepbox_frame_save_parent_class)->change_state(element, change);
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) gst_clear_caps(&cast(element)->caps);
  return result;
}

void finalize(GObject* object) {
  gst_clear_caps(&cast(object)->caps);
  G_OBJECT_CLASS(keepbox_frame_save_parent_class)->finalize(object);
}

}  // namespace

static void keepbox_frame_save_init(KeepboxFrameSave* self) {
  auto* klass = GST_ELEMENT_GET_CLASS(self);
  self->sink = gst_pad_new_from_template(gst_element_class_get_pad_template(klass, "sink"), "sink");
  self->src = gst_pad_new_from_template(gst_element_class_get_pad_template(klass, "src"), "src");
  gst_pad_set_chain_function(self->sink, chain);
  gst_pad_set_event_function(self->sink, sink_event);
  gst_pad_set_query_function(self->sink, sink_query);
  gst_pad_set_query_function(self->src, src_query);
  gst_pad_set_event_function(self->src, src_event);
  GST_PAD_SET_PROXY_CAPS(self->sink);
  GST_PAD_SET_PROXY_CAPS(self->src);
  gst_element_add_pad(GST_ELEMENT(self), self->sink);
  gst_element_add_pad(GST_ELEMENT(self), self->src);
}

static void keepbox_frame_save_class_init(KeepboxFrameSaveClass* klass) {
  auto* element = GST_ELEMENT_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(framesave_debug, "framesave", 0, "Saving of frames");
  G_OBJECT_CLASS(klass)->finalize = finalize;
  element->change_state = change_state;
  gst_element_class_set_static_metadata(
      element, "Frame saver", "Filter/Video",
      "Keeps each frame with its boxes as it is, and sends a copy without boxes on, so that "
      "framerestore can bring the frame back after detection on the scaled copy",
      "The keepbox developers");
  add_video_templates(element);
}
