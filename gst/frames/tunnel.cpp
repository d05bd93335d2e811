// SPDX-License-Identifier: LGPL-2.1-or-later
// Custom queries and events with their content and the number of pairs that they are inside of.
#include "gst/frames/tunnel.h"

#include <new>
#include <utility>

#include "gst/tensors/provenance.h"

namespace keepbox {
namespace {

constexpr const char* kQuery = "keepbox-across-query";
constexpr const char* kUpstream = "keepbox-across-upstream";
// Sticky events are identified by name.
constexpr const char* kSavedCaps = "keepbox-saved-caps";

GstStructure* structure_of(GstQuery* query) {
  if (GST_QUERY_TYPE(query) != GST_QUERY_CUSTOM) return nullptr;
  const GstStructure* structure = gst_query_get_structure(query);
  return structure != nullptr && gst_structure_has_name(structure, kQuery)
             ? gst_query_writable_structure(query)
             : nullptr;
}

gint depth_of(const GstStructure* structure) {
  gint depth = 0;
  gst_structure_get_int(structure, "depth", &depth);
  return depth;
}

gboolean relay(GstPad* pad, GstQuery* query, GstStructure* structure, gint change) {
  const gint depth = depth_of(structure);
  gst_structure_set(structure, "depth", G_TYPE_INT, depth + change, nullptr);
  const gboolean result = gst_pad_peer_query(pad, query);
  gst_structure_set(structure, "depth", G_TYPE_INT, depth, nullptr);
  return result;
}

/// Queries the neighbour. A serialized query would wait for a buffer of another thread, which may
/// in turn wait for this thread; it gets no answer.
gboolean query_neighbour(GstPad* outer, GstQuery* query) {
  if (!GST_QUERY_IS_SERIALIZED(query)) return gst_pad_peer_query(outer, query);
  g_autoptr(GstPad) neighbour = gst_pad_get_peer(outer);
  if (neighbour == nullptr || !GST_PAD_STREAM_TRYLOCK(neighbour)) return FALSE;
  const gboolean answered = gst_pad_query(neighbour, query);
  GST_PAD_STREAM_UNLOCK(neighbour);
  return answered;
}

/// Merges a further neighbour's answer into an existing one.
void add_answer(GstQuery* sum, GstQuery* answer) {
  GstCaps *all = nullptr, *its = nullptr;
  gboolean before = FALSE, now = FALSE;
  switch (GST_QUERY_TYPE(sum)) {
    case GST_QUERY_CAPS: {
      gst_query_parse_caps_result(sum, &all);
      gst_query_parse_caps_result(answer, &its);
      g_autoptr(GstCaps) both = gst_caps_intersect_full(all, its, GST_CAPS_INTERSECT_FIRST);
      gst_query_set_caps_result(sum, both);
      break;
    }
    case GST_QUERY_ACCEPT_CAPS:
      gst_query_parse_accept_caps_result(sum, &before);
      gst_query_parse_accept_caps_result(answer, &now);
      gst_query_set_accept_caps_result(sum, before && now);
      break;
    case GST_QUERY_ALLOCATION:
      for (guint i = gst_query_get_n_allocation_metas(sum); i-- > 0;)
        if (!gst_query_find_allocation_meta(
                answer, gst_query_parse_nth_allocation_meta(sum, i, nullptr), nullptr))
          gst_query_remove_nth_allocation_meta(sum, i);
      break;
    default: break;
  }
}

/// Copies a query without its answer.
GstQuery* copy_of_query(GstQuery* query) {
  GstCaps* caps = nullptr;
  gboolean pool = FALSE;
  switch (GST_QUERY_TYPE(query)) {
    case GST_QUERY_CAPS: gst_query_parse_caps(query, &caps); return gst_query_new_caps(caps);
    case GST_QUERY_ACCEPT_CAPS:
      gst_query_parse_accept_caps(query, &caps);
      return gst_query_new_accept_caps(caps);
    default:
      gst_query_parse_allocation(query, &caps, &pool);
      return gst_query_new_allocation(caps, pool);
  }
}

bool is_tunnelled(GstEvent* event) {
  const GstStructure* structure = gst_event_get_structure(event);
  if (structure == nullptr) return false;
  return gst_structure_has_name(structure, kUpstream) ||
         g_str_has_prefix(gst_structure_get_name(structure), kSavedCaps);
}

/// Returns the event at another depth, transfer full of both.
GstEvent* at_depth(GstEvent* event, gint depth) {
  GstEvent* out = gst_event_make_writable(event);
  GstStructure* structure = gst_event_writable_structure(out);
  gst_structure_set(structure, "depth", G_TYPE_INT, depth, nullptr);
  if (g_str_has_prefix(gst_structure_get_name(structure), kSavedCaps)) {
    g_autofree gchar* name =
        depth == 0 ? g_strdup(kSavedCaps) : g_strdup_printf("%s-%d", kSavedCaps, depth);
    gst_structure_set_name(structure, name);
  }
  return out;
}

}  // namespace

bool tunnel_query(GstPad* inner, GstQuery* query) {
  // The query itself would become read-only inside another one, so a pointer is passed; both are
  // gone when this returns.
  GstQuery* carrier = gst_query_new_custom(
      GST_QUERY_CUSTOM,
      gst_structure_new(kQuery, "query", G_TYPE_POINTER, query, "depth", G_TYPE_INT, 0, "answered",
                        G_TYPE_BOOLEAN, FALSE, nullptr));
  gboolean answered = FALSE;
  gst_pad_peer_query(inner, carrier);
  gst_structure_get_boolean(gst_query_get_structure(carrier), "answered", &answered);
  gst_query_unref(carrier);
  return answered;
}

bool answer_tunnelled_query(GstPad* outer, GstQuery* query, gboolean& result) {
  GstStructure* structure = structure_of(query);
  if (structure == nullptr) return false;
  if (depth_of(structure) > 0) {
    result = relay(outer, query, structure, -1);
    return true;
  }
  gpointer asked = nullptr;
  gst_structure_get(structure, "query", G_TYPE_POINTER, &asked, nullptr);
  auto* query_here = static_cast<GstQuery*>(asked);
  gboolean answered = FALSE;
  gst_structure_get_boolean(structure, "answered", &answered);
  if (!answered) {
    answered = query_neighbour(outer, query_here);
    gst_structure_set(structure, "answered", G_TYPE_BOOLEAN, answered, nullptr);
  } else if (GstQuery* further = copy_of_query(query_here)) {
    if (query_neighbour(outer, further)) add_answer(query_here, further);
    gst_query_unref(further);
  }
  // TRUE would keep a tee in between from querying its other branches.
  result = FALSE;
  return true;
}

bool tunnel_enclosing_query(GstPad* inner, GstQuery* query, gboolean& result) {
  GstStructure* structure = structure_of(query);
  if (structure == nullptr) return false;
  result = relay(inner, query, structure, 1);
  return true;
}

GstEvent* tunnel_event(GstEvent* event) {
  GstStructure* structure =
      gst_structure_new(kUpstream, "event", GST_TYPE_EVENT, event, "depth", G_TYPE_INT, 0, nullptr);
  gst_event_unref(event);
  return gst_event_new_custom(GST_EVENT_CUSTOM_UPSTREAM, structure);
}

GstEvent* untunnel_event(GstEvent* event) {
  if (!is_tunnelled(event)) return event;
  const GstStructure* structure = gst_event_get_structure(event);
  if (const gint depth = depth_of(structure); depth > 0) return at_depth(event, depth - 1);
  GstEvent* held = nullptr;
  if (!gst_structure_get(structure, "event", GST_TYPE_EVENT, &held, nullptr)) return event;
  gst_event_unref(event);
  return held;
}

GstEvent* tunnel_enclosing_event(GstEvent* event) {
  return is_tunnelled(event) ? at_depth(event, depth_of(gst_event_get_structure(event)) + 1)
                             : event;
}

GstEvent* saved_caps_event(GstCaps* caps) {
  return gst_event_new_custom(
      GST_EVENT_CUSTOM_DOWNSTREAM_STICKY,
      gst_structure_new(kSavedCaps, "caps", GST_TYPE_CAPS, caps, "depth", G_TYPE_INT, 0, nullptr));
}

GstCaps* saved_caps_of(GstEvent* event) {
  const GstStructure* structure = gst_event_get_structure(event);
  if (structure == nullptr || !gst_structure_has_name(structure, kSavedCaps)) return nullptr;
  const GValue* value = gst_structure_get_value(structure, "caps");
  return value != nullptr ? static_cast<GstCaps*>(g_value_get_boxed(value)) : nullptr;
}

namespace {

struct FrameMeta {
  GstMeta meta;
  SavedFrame saved;
  std::shared_ptr<const void> place;  // made and destroyed by init and release
};

struct TransformsMeta {
  GstMeta meta;
  PixelTransforms steps;  // made and destroyed by init and release
};

gboolean init_frame(GstMeta* meta, gpointer, GstBuffer*) {
  auto* frame = reinterpret_cast<FrameMeta*>(meta);
  frame->saved = {};
  new (&frame->place) std::shared_ptr<const void>;
  return TRUE;
}

void release_frame(GstMeta* meta, GstBuffer*) {
  auto* frame = reinterpret_cast<FrameMeta*>(meta);
  gst_clear_buffer(&frame->saved.frame);
  gst_clear_caps(&frame->saved.caps);
  std::destroy_at(&frame->place);
}

gboolean init_transforms(GstMeta* meta, gpointer, GstBuffer*) {
  new (&reinterpret_cast<TransformsMeta*>(meta)->steps) PixelTransforms;
  return TRUE;
}

void release_transforms(GstMeta* meta, GstBuffer*) {
  std::destroy_at(&reinterpret_cast<TransformsMeta*>(meta)->steps);
}

gboolean copy_frame(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer);
gboolean extend_transforms(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer data);

GType frame_api() {
  static const GType type = meta_api("KeepboxFrameMetaAPI", sizeof(FrameMeta));
  return type;
}

GType transforms_api() {
  static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_ORIENTATION_STR,
                                GST_META_TAG_VIDEO_SIZE_STR, nullptr};
  static const GType type = meta_api("KeepboxWayMetaAPI", sizeof(TransformsMeta), tags);
  return type;
}

FrameMeta& add_frame(GstBuffer* buffer) {
  static const GstMetaInfo* info = meta_info(frame_api(), "KeepboxFrameMeta", sizeof(FrameMeta),
                                             {init_frame, release_frame, copy_frame});
  return *reinterpret_cast<FrameMeta*>(gst_buffer_add_meta(buffer, info, nullptr));
}

TransformsMeta& add_transforms(GstBuffer* buffer) {
  static const GstMetaInfo* info =
      meta_info(transforms_api(), "KeepboxWayMeta", sizeof(TransformsMeta),
                {init_transforms, release_transforms, extend_transforms});
  return *reinterpret_cast<TransformsMeta*>(gst_buffer_add_meta(buffer, info, nullptr));
}

TransformsMeta* get_transforms(GstBuffer* buffer) {
  return reinterpret_cast<TransformsMeta*>(gst_buffer_get_meta(buffer, transforms_api()));
}

gboolean copy_frame(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer) {
  if (!GST_META_TRANSFORM_IS_COPY(type)) return FALSE;
  // The source may be in the same list of metas, which adding does not move.
  FrameMeta& added = add_frame(to);
  const auto* from = reinterpret_cast<FrameMeta*>(meta);
  added.saved = {gst_buffer_ref(from->saved.frame), gst_caps_ref(from->saved.caps)};
  added.place = from->place;
  return TRUE;
}

gboolean extend_transforms(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer data) {
  const bool copy = GST_META_TRANSFORM_IS_COPY(type);
  auto step = copy ? std::nullopt : step_of(type, data);
  if (!copy && !step) return FALSE;
  // The source may be in the same list of metas, which adding does not move.
  TransformsMeta& added = add_transforms(to);
  added.steps = reinterpret_cast<TransformsMeta*>(meta)->steps;
  if (step) added.steps.push_back(std::move(*step));
  return TRUE;
}

}  // namespace

void add_saved_frame(GstBuffer* buffer, const SavedFrame& frame, const Picture& picture,
                     std::shared_ptr<const void> place) {
  FrameMeta& added = add_frame(buffer);
  added.saved = {gst_buffer_ref(frame.frame), gst_caps_ref(frame.caps)};
  added.place = std::move(place);
  add_transforms(buffer).steps.push_back({picture, picture, PixelMap()});
}

SavedFrame get_saved_frame(GstBuffer* buffer) {
  const auto* meta = reinterpret_cast<FrameMeta*>(gst_buffer_get_meta(buffer, frame_api()));
  return meta == nullptr ? SavedFrame{} : meta->saved;
}

GstBuffer* take_saved_frame(GstBuffer* buffer) {
  auto* meta = reinterpret_cast<FrameMeta*>(gst_buffer_get_meta(buffer, frame_api()));
  if (meta == nullptr) return nullptr;
  GstBuffer* frame = std::exchange(meta->saved.frame, nullptr);
  gst_buffer_remove_meta(buffer, &meta->meta);
  if (TransformsMeta* transforms = get_transforms(buffer))
    gst_buffer_remove_meta(buffer, &transforms->meta);
  return frame;
}

bool is_saved_frame(GType api) { return api == frame_api() || api == transforms_api(); }

std::optional<PixelMap> map_from_saved(GstBuffer* buffer, const Picture& scaled, ResizeMode mode) {
  const TransformsMeta* transforms = get_transforms(buffer);
  if (transforms == nullptr) return std::nullopt;
  return map_of(transforms->steps, scaled, mode);
}

}  // namespace keepbox
