// SPDX-License-Identifier: LGPL-2.1-or-later
// Facts about tensors: the producer, the frame, the family, and whether they were decoded.
#include "gst/tensors/provenance.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <tuple>
#include <utility>

#include "core/recognition/maps.h"
#include "gst/base/queries.h"

namespace keepbox {
namespace {

struct ProvenanceMeta {
  GstMeta meta;
  SharedProvenance source;  // made and destroyed by init_source and release_source
};

gboolean init_source(GstMeta* meta, gpointer, GstBuffer*) {
  new (&reinterpret_cast<ProvenanceMeta*>(meta)->source) SharedProvenance;
  return TRUE;
}

void release_source(GstMeta* meta, GstBuffer*) {
  std::destroy_at(&reinterpret_cast<ProvenanceMeta*>(meta)->source);
}

gboolean transform_source(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer) {
  if (!GST_META_TRANSFORM_IS_COPY(type)) return FALSE;
  set_provenance(to, reinterpret_cast<ProvenanceMeta*>(meta)->source);
  return TRUE;
}

GType source_api() {
  static const GType type = meta_api("KeepboxTensorSource4MetaAPI", sizeof(ProvenanceMeta));
  return type;
}

ProvenanceMeta* find_source(GstBuffer* data) {
  return reinterpret_cast<ProvenanceMeta*>(gst_buffer_get_meta(data, source_api()));
}

ProvenanceMeta* add_source(GstBuffer* data) {
  static const GstMetaInfo* info =
      meta_info(source_api(), "KeepboxTensorSource4Meta", sizeof(ProvenanceMeta),
                {init_source, release_source, transform_source});
  return reinterpret_cast<ProvenanceMeta*>(gst_buffer_add_meta(data, info, nullptr));
}

auto without_geometry(const TensorProvenance& source) {
  return std::tie(source.model, source.detector, source.contract, source.iou_threshold,
                  source.units, source.labels, source.labels_of, source.dynamic_rows,
                  source.objects);
}

}  // namespace

bool operator==(const TensorProvenance& a, const TensorProvenance& b) {
  return a.producer == b.producer && a.file == b.file && a.geometry == b.geometry &&
         a.tiles == b.tiles && a.held == b.held && a.lost_geometry == b.lost_geometry &&
         without_geometry(a) == without_geometry(b);
}

bool same_source(const SharedProvenance& a, const SharedProvenance& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

bool same_producer(const SharedProvenance& a, const SharedProvenance& b) {
  return a == b || (a != nullptr && b != nullptr && a->geometry.model == b->geometry.model &&
                    a->tiles.size() == b->tiles.size() && a->has_geometry() == b->has_geometry() &&
                    without_geometry(*a) == without_geometry(*b));
}

bool same_element(const SharedProvenance& a, const SharedProvenance& b) {
  const bool known = a != nullptr && b != nullptr && a->producer != 0 && b->producer != 0;
  return known ? a->producer == b->producer : same_producer(a, b);
}

uint64_t new_producer() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

void set_provenance(GstBuffer* data, SharedProvenance source) {
  ProvenanceMeta* there = find_source(data);
  (there != nullptr ? there : add_source(data))->source = std::move(source);
}

SharedProvenance provenance_of(GstBuffer* data) {
  const ProvenanceMeta* meta = data != nullptr ? find_source(data) : nullptr;
  return meta != nullptr ? meta->source : nullptr;
}

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

namespace {

std::string sized(const char* name, gsize bytes) { return name + ('-' + std::to_string(bytes)); }

}  // namespace

GType meta_api(const char* name, gsize bytes, const gchar** tags) {
  static const gchar* none[] = {nullptr};
  const std::string whole = sized(name, bytes);
  const GType there = g_type_from_name(whole.c_str());
  if (there != 0) return there;
  return gst_meta_api_type_register(whole.c_str(), tags != nullptr ? tags : none);
}

const GstMetaInfo* meta_info(GType api, const char* name, gsize bytes,
                             const MetaFunctions& functions) {
  const std::string whole = sized(name, bytes);
  const GstMetaInfo* there = gst_meta_get_info(whole.c_str());
  if (there != nullptr && there->size >= bytes) return there;
  return gst_meta_register(api, whole.c_str(), bytes, functions.init, functions.release,
                           functions.transform);
}

namespace {

constexpr const char* kFamily = "keepbox-family";      // downstream, to a decoder
constexpr const char* kProducer = "keepbox-producer";  // upstream, to an inference element
constexpr const char* kInput = "keepbox-input";        // downstream, to a decoder

template <class Answer>
Answer* answer_of(GstQuery* query) {
  return static_cast<Answer*>(custom_answer(query));
}

}  // namespace

std::optional<WantedFamily> query_family(GstElement* inference) {
  bool another = false;
  send_custom(inference, "sink", kProducer, &another);
  if (another) return std::nullopt;
  std::optional<WantedFamily> family;
  send_custom(inference, "src", kFamily, &family);
  return family;
}

bool is_family_query(GstQuery* query) { return is_custom(query, kFamily); }

void answer_family_query(GstQuery* query, WantedFamily family) {
  *answer_of<std::optional<WantedFamily>>(query) = std::move(family);
}

bool handle_family_query(GstQuery* query, gboolean& answered) {
  if (is_custom(query, kProducer)) *answer_of<bool>(query) = true;
  else if (!is_custom(query, kFamily)) return false;
  answered = is_custom(query, kProducer);
  return true;
}

bool handle_producer_query(GstQuery* query) { return is_custom(query, kProducer); }

Size query_input_size(GstElement* source) {
  InputSizeQuery question;
  send_custom(source, "src", kInput, &question);
  if (question.answer.width != 0 || question.tensors.empty()) return question.answer;
  return likely_input(question.tensors.front().shape);
}

InputSizeQuery* input_size_query(GstQuery* query) {
  return is_custom(query, kInput) ? answer_of<InputSizeQuery>(query) : nullptr;
}

}  // namespace keepbox
