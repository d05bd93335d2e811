// SPDX-License-Identifier: LGPL-2.1-or-later
// The meta of a tensor's source.
#include "gst/tensors/tensorsource.h"

#include <atomic>
#include <new>
#include <tuple>
#include <utility>

#include "gst/tensors/metatype.h"

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

}  // namespace keepbox
