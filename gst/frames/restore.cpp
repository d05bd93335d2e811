// SPDX-License-Identifier: LGPL-2.1-or-later
// Takes the full frame, moves the scaled frame's metas to it, and lays out its planes.
#include "gst/frames/restore.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "gst/base/element.h"
#include "gst/frames/tunnel.h"
#include "gst/metas/carry.h"
#include "gst/metas/counts.h"
#include "gst/metas/relationmeta.h"
#include "gst/tensors/tensors.h"

namespace keepbox {
namespace {

/// Flags of a buffer's position in its stream, as opposed to flags of pixel storage.
constexpr guint kStreamFlags = GST_BUFFER_FLAG_LIVE | GST_BUFFER_FLAG_DECODE_ONLY |
                               GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_RESYNC |
                               GST_BUFFER_FLAG_CORRUPTED | GST_BUFFER_FLAG_MARKER |
                               GST_BUFFER_FLAG_HEADER | GST_BUFFER_FLAG_GAP |
                               GST_BUFFER_FLAG_DROPPABLE | GST_BUFFER_FLAG_DELTA_UNIT;

/// The transfer of the scaled frame's metas to the full one.
struct MetaTransfer {
  GstBuffer* full;
  GstVideoInfo from, to;
  const PixelMap& map;
  std::vector<GType> there;  // APIs of metas that the full frame already has
};

gboolean note_api(GstBuffer*, GstMeta** meta, gpointer apis) {
  static_cast<std::vector<GType>*>(apis)->push_back((*meta)->info->api);
  return TRUE;
}

bool is_carried_elsewhere(GType api) {
  return is_analytics(api) || is_counts(api) || is_saved_frame(api) || is_pixel_transforms(api) ||
         holds_tensors(api) ||
         gst_meta_api_type_has_tag(api, g_quark_from_static_string("memory")) ||
         gst_meta_api_type_has_tag(api, g_quark_from_static_string("memory-reference"));
}

gboolean transfer_meta(GstBuffer* scaled, GstMeta** meta, gpointer data) {
  auto& to = *static_cast<MetaTransfer*>(data);
  const GstMetaInfo* info = (*meta)->info;
  if (is_carried_elsewhere(info->api) || info->transform_func == nullptr ||
      std::ranges::contains(to.there, info->api))
    return TRUE;
  const auto transform = [&](GQuark type, gpointer change) -> bool {
    return info->transform_func(to.full, *meta, scaled, type, change);
  };
  if (gst_meta_api_type_has_tag(info->api, g_quark_from_static_string(GST_META_TAG_VIDEO_SIZE_STR)))
    return offer(to.map, to.from, to.to, transform), TRUE;
  GstMetaTransformCopy whole{FALSE, 0, static_cast<gsize>(-1)};
  transform(g_quark_from_static_string("gst-copy"), &whole);
  return TRUE;
}

/// Sources of tensors mapped to the full frame; tensors that shared a source share one again. The
/// record of transforms since inference ends with the full frame, on which a new one begins.
struct MappedProvenance {
  GstBuffer *scaled, *full;
  Picture from, to;
  ResizeMode mode;
  PixelMap map;
  SharedProvenance last, last_moved;

  SharedProvenance operator()(const SharedProvenance& source) {
    if (!source->has_geometry() || source->objects) return source;
    if (source == last) return last_moved;
    last = source;
    const auto transforms = map_from_inferred(scaled, source->producer, from, mode);
    last_moved = transforms ? moved_provenance(source, source->geometry.frame, to.size,
                                               transforms->then(map))
                            : moved_provenance(source, from.size, to.size, map);
    if (transforms) begin_transforms(full, source->producer, to);
    return last_moved;
  }
};

/// Drops metas of the frame itself: a scaler in passthrough returns framesave's copy, which shares
/// the frame's memory.
gboolean drop_frame_meta(GstBuffer*, GstMeta** meta, gpointer frame) {
  if ((*meta)->info->api == GST_PARENT_BUFFER_META_API_TYPE &&
      reinterpret_cast<GstParentBufferMeta*>(*meta)->buffer == frame)
    *meta = nullptr;
  return TRUE;
}

bool has_caps_layout(GstBuffer* frame, const GstVideoInfo& info) {
  const GstVideoMeta* meta = gst_buffer_get_video_meta(frame);
  if (meta == nullptr) return true;
  for (guint plane = 0; plane < meta->n_planes; ++plane)
    if (meta->offset[plane] != info.offset[plane] || meta->stride[plane] != info.stride[plane])
      return false;
  return true;
}

}  // namespace

std::optional<FrameFormat> frame_format(const GstCaps* caps) {
  const auto picture = picture_of(caps);
  if (!picture) return std::nullopt;
  FrameFormat out{.picture = *picture};
  const bool known = gst_video_info_from_caps(&out.info, caps);
  if (!known) gst_video_info_init(&out.info);
  out.info.width = static_cast<gint>(picture->size.width);
  out.info.height = static_cast<gint>(picture->size.height);
  const GstCapsFeatures* features = gst_caps_get_features(caps, 0);
  out.plain =
      known && (features == nullptr ||
                gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY));
  return out;
}

GstBuffer* take_frame(GstBuffer** scaled) {
  if (!gst_buffer_is_writable(*scaled)) {  // it is shared, and so is the saved frame
    GstBuffer* copy = copy_with_tensors(*scaled);
    gst_buffer_unref(*scaled);
    *scaled = copy;
  }
  GstBuffer* frame = take_saved_frame(*scaled);
  gst_buffer_remove_all_memory(*scaled);
  gst_buffer_foreach_meta(*scaled, drop_frame_meta, frame);
  if (gst_buffer_is_writable(frame)) return frame;
  GstBuffer* copy = copy_with_tensors(frame);
  gst_buffer_unref(frame);
  return copy;
}

void transfer_metas(GstBuffer* scaled, const FrameFormat& from, GstBuffer* full,
                    const FrameFormat& to, const PixelMap& map, ResizeMode mode) {
  gst_buffer_copy_into(full, scaled, GST_BUFFER_COPY_TIMESTAMPS, 0, static_cast<gsize>(-1));
  GST_BUFFER_FLAG_UNSET(full, kStreamFlags);
  GST_BUFFER_FLAG_SET(full, GST_BUFFER_FLAGS(scaled) & kStreamFlags);
  MetaTransfer to_full{full, from.info, to.info, map, {}};
  gst_buffer_foreach_meta(full, note_api, &to_full.there);
  gst_buffer_foreach_meta(scaled, transfer_meta, &to_full);
  MappedProvenance sources{scaled, full, from.picture, to.picture, mode, map, {}, {}};
  const MovedProvenance moved = std::ref(sources);
  carry_tensors(scaled, full, moved);
  carry_analytics(scaled, from.info, full, to.info, map, moved);
  carry_counts(scaled, full, map);
}

GstBuffer* with_plain_planes(GstBuffer* frame, const FrameFormat& as) {
  if (!as.plain || has_caps_layout(frame, as.info)) return frame;
  GstVideoInfo info = as.info;
  GstVideoFrame in, out;
  // A copy of the metas, with new memory.
  GstBuffer* plain = copy_with_tensors(frame);
  gst_buffer_remove_all_memory(plain);
  gst_buffer_append_memory(plain, gst_allocator_alloc(nullptr, info.size, nullptr));
  if (GstVideoMeta* meta = gst_buffer_get_video_meta(plain))
    gst_buffer_remove_meta(plain, &meta->meta);
  const bool from = gst_video_frame_map(&in, &info, frame, GST_MAP_READ);
  const bool to = from && gst_video_frame_map(&out, &info, plain, GST_MAP_WRITE);
  const bool copied = to && gst_video_frame_copy(&out, &in);
  if (to) gst_video_frame_unmap(&out);
  if (from) gst_video_frame_unmap(&in);
  GstBuffer* kept = copied ? plain : frame;
  gst_buffer_unref(copied ? frame : plain);
  return kept;
}

void HeldEvents::push_to(GstPad* pad) {
  for (GstEvent* event : std::exchange(events_, {})) gst_pad_push_event(pad, event);
}

void HeldEvents::drop_segments() {
  std::erase_if(events_, [](GstEvent* event) {
    if (GST_EVENT_TYPE(event) != GST_EVENT_SEGMENT) return false;
    gst_event_unref(event);
    return true;
  });
}

void HeldEvents::clear() {
  for (GstEvent* event : std::exchange(events_, {})) gst_event_unref(event);
}

}  // namespace keepbox
