// SPDX-License-Identifier: LGPL-2.1-or-later
// The meta of the note: a list of tensors' data.
#include "gst/tensors/decodednote.h"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

namespace keepbox {
namespace {

struct NoteMeta {
  GstMeta meta;
  std::vector<GstBuffer*> data;  // owned; made and destroyed by init and release
};

gboolean init(GstMeta* meta, gpointer, GstBuffer*) {
  new (&reinterpret_cast<NoteMeta*>(meta)->data) std::vector<GstBuffer*>;
  return TRUE;
}

void release(GstMeta* meta, GstBuffer*) {
  auto& data = reinterpret_cast<NoteMeta*>(meta)->data;
  std::ranges::for_each(data, gst_buffer_unref);
  std::destroy_at(&data);
}

gboolean transform(GstBuffer* to, GstMeta*, GstBuffer* from, GQuark type, gpointer) {
  if (!GST_META_TRANSFORM_IS_COPY(type)) return FALSE;
  copy_note(from, to);
  return TRUE;
}

GType api_type() {
  static const gchar* tags[] = {nullptr};
  static const GType type = gst_meta_api_type_register("KeepboxDecodedMetaAPI", tags);
  return type;
}

NoteMeta* find(GstBuffer* buffer) {
  return reinterpret_cast<NoteMeta*>(gst_buffer_get_meta(buffer, api_type()));
}

NoteMeta& add(GstBuffer* buffer) {
  static const GstMetaInfo* info = gst_meta_register(
      api_type(), "KeepboxDecodedMeta", sizeof(NoteMeta), init, release, transform);
  return *reinterpret_cast<NoteMeta*>(gst_buffer_add_meta(buffer, info, nullptr));
}

}  // namespace

void note_decoded(GstBuffer* buffer, GstBuffer* data) {
  if (data == nullptr || DecodedNote(buffer).has(data)) return;
  NoteMeta* there = find(buffer);
  (there != nullptr ? *there : add(buffer)).data.push_back(gst_buffer_ref(data));
}

DecodedNote::DecodedNote(GstBuffer* buffer)
    : meta_(buffer != nullptr ? find(buffer) : nullptr) {}

bool DecodedNote::has(GstBuffer* data) const {
  return meta_ != nullptr &&
         std::ranges::contains(static_cast<const NoteMeta*>(meta_)->data, data);
}

void copy_note(GstBuffer* from, GstBuffer* to) {
  const NoteMeta* note = find(from);
  if (note == nullptr) return;
  for (GstBuffer* data : note->data) note_decoded(to, data);
}

bool is_decoded_note(GType api) { return api == api_type(); }

}  // namespace keepbox
