// SPDX-License-Identifier: LGPL-2.1-or-later
// Registers the meta of saved frames.
#include "gst/frames/framemeta.h"

namespace keepbox {
namespace {

struct FrameMeta {
  GstMeta meta;
  SavedFrame saved;
};

gboolean init(GstMeta* meta, gpointer, GstBuffer*) {
  reinterpret_cast<FrameMeta*>(meta)->saved = {};
  return TRUE;
}

void release(GstMeta* meta, GstBuffer*) {
  SavedFrame& saved = reinterpret_cast<FrameMeta*>(meta)->saved;
  gst_clear_buffer(&saved.frame);
  gst_clear_caps(&saved.caps);
}

gboolean transform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer) {
  if (!GST_META_TRANSFORM_IS_COPY(type)) return FALSE;
  const SavedFrame& saved = reinterpret_cast<FrameMeta*>(meta)->saved;
  add_saved_frame(to, saved.frame, saved.caps);
  return TRUE;
}

GType api_type() {
  // No tags: nothing that happens to the small frame's pixels touches the saved one.
  static const gchar* tags[] = {nullptr};
  static const GType type = gst_meta_api_type_register("KeepboxFrameMetaAPI", tags);
  return type;
}

const GstMetaInfo* info() {
  static const GstMetaInfo* registered = gst_meta_register(
      api_type(), "KeepboxFrameMeta", sizeof(FrameMeta), init, release, transform);
  return registered;
}

}  // namespace

void add_saved_frame(GstBuffer* buffer, GstBuffer* frame, GstCaps* caps) {
  auto* meta = reinterpret_cast<FrameMeta*>(gst_buffer_add_meta(buffer, info(), nullptr));
  meta->saved = {gst_buffer_ref(frame), gst_caps_ref(caps)};
}

bool is_saved_frame(const GstMeta& meta) { return meta.info->api == api_type(); }

SavedFrame get_saved_frame(GstBuffer* buffer) {
  const auto* meta = reinterpret_cast<FrameMeta*>(gst_buffer_get_meta(buffer, api_type()));
  return meta == nullptr ? SavedFrame{} : meta->saved;
}

}  // namespace keepbox
