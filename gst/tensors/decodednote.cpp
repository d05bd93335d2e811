// SPDX-License-Identifier: LGPL-2.1-or-later
// The meta of the note: a list of tensors' data, and the sources that skipped the frame.
#include "gst/tensors/decodednote.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "gst/tensors/metatype.h"

namespace keepbox {
namespace {

struct NoteMeta {
  GstMeta meta;
  // Made and destroyed by init_note and release_note:
  std::vector<GstBuffer*> data;  // owned
  std::vector<SharedProvenance> skipped;
  bool looked;
};

gboolean init_note(GstMeta* meta, gpointer, GstBuffer*) {
  auto* note = reinterpret_cast<NoteMeta*>(meta);
  new (&note->data) std::vector<GstBuffer*>;
  new (&note->skipped) std::vector<SharedProvenance>;
  note->looked = false;
  return TRUE;
}

void release_note(GstMeta* meta, GstBuffer*) {
  auto& [base, data, skipped, looked] = *reinterpret_cast<NoteMeta*>(meta);
  std::ranges::for_each(data, gst_buffer_unref);
  std::destroy_at(&data);
  std::destroy_at(&skipped);
}

gboolean transform_note(GstBuffer* to, GstMeta*, GstBuffer* from, GQuark type, gpointer) {
  if (!GST_META_TRANSFORM_IS_COPY(type)) return FALSE;
  copy_note(from, to);
  return TRUE;
}

GType note_api() {
  static const GType type = meta_api("KeepboxDecoded2MetaAPI", sizeof(NoteMeta));
  return type;
}

NoteMeta* find_note(GstBuffer* buffer) {
  return reinterpret_cast<NoteMeta*>(gst_buffer_get_meta(buffer, note_api()));
}

/// Returns the note of the buffer, or a new one.
NoteMeta& note_of(GstBuffer* buffer) {
  if (NoteMeta* there = find_note(buffer)) return *there;
  static const GstMetaInfo* info = meta_info(note_api(), "KeepboxDecoded2Meta", sizeof(NoteMeta),
                                             {init_note, release_note, transform_note});
  return *reinterpret_cast<NoteMeta*>(gst_buffer_add_meta(buffer, info, nullptr));
}

}  // namespace

void note_decoded(GstBuffer* buffer, GstBuffer* data) {
  if (data == nullptr || DecodedNote(buffer).has(data)) return;
  note_of(buffer).data.push_back(gst_buffer_ref(data));
}

void note_skipped(GstBuffer* buffer, SharedProvenance source) {
  note_of(buffer).skipped.push_back(std::move(source));
}

void note_looked(GstBuffer* buffer) { note_of(buffer).looked = true; }

bool was_looked_at(GstBuffer* buffer) {
  const NoteMeta* note = find_note(buffer);
  return note != nullptr && note->looked;
}

bool was_skipped(GstBuffer* buffer) {
  const NoteMeta* note = find_note(buffer);
  return note != nullptr && std::ranges::any_of(note->skipped, [](const auto& source) {
           return source == nullptr || !source->objects;
         });
}

bool had_no_objects(GstBuffer* buffer) {
  return std::ranges::any_of(sources_of_skipped(buffer),
                             [](const auto& source) { return source->objects; });
}

std::vector<SharedProvenance> sources_of_skipped(GstBuffer* buffer) {
  std::vector<SharedProvenance> out;
  if (const NoteMeta* note = find_note(buffer)) out = note->skipped;
  std::erase(out, nullptr);
  return out;
}

bool was_skipped_by(GstBuffer* buffer, const SharedProvenance& source) {
  const NoteMeta* note = find_note(buffer);
  return note != nullptr && source != nullptr &&
         std::ranges::any_of(note->skipped,
                             [&](const auto& each) { return same_element(each, source); });
}

DecodedNote::DecodedNote(GstBuffer* buffer)
    : meta_(buffer != nullptr ? find_note(buffer) : nullptr) {}

bool DecodedNote::has(GstBuffer* data) const {
  return meta_ != nullptr && std::ranges::contains(static_cast<const NoteMeta*>(meta_)->data, data);
}

void copy_note(GstBuffer* from, GstBuffer* to) {
  const NoteMeta* note = find_note(from);
  if (note == nullptr) return;
  for (GstBuffer* data : note->data) note_decoded(to, data);
  for (const SharedProvenance& source : note->skipped) note_skipped(to, source);
  if (note->looked) note_looked(to);
}

bool is_decoded_note(GType api) { return api == note_api(); }

}  // namespace keepbox
