// SPDX-License-Identifier: LGPL-2.1-or-later
// Two metas: one without tags, which nothing drops, holds the frame; one tagged with size and
// orientation takes part in every transform, or is dropped by elements that do not support it.
#include "gst/frames/framemeta.h"

#include <memory>
#include <new>
#include <utility>

#include "gst/metas/pixeltransforms.h"
#include "gst/tensors/metatype.h"

namespace keepbox {
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
