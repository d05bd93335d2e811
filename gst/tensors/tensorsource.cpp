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

struct SourceMeta {
  GstMeta meta;
  SharedTensorSource source;  // made and destroyed by init_source and release_source
};

gboolean init_source(GstMeta* meta, gpointer, GstBuffer*) {
  new (&reinterpret_cast<SourceMeta*>(meta)->source) SharedTensorSource;
  return TRUE;
}

void release_source(GstMeta* meta, GstBuffer*) {
  std::destroy_at(&reinterpret_cast<SourceMeta*>(meta)->source);
}

gboolean transform_source(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer) {
  if (!GST_META_TRANSFORM_IS_COPY(type)) return FALSE;
  set_tensor_source(to, reinterpret_cast<SourceMeta*>(meta)->source);
  return TRUE;
}

GType source_api() {
  static const GType type = meta_api("KeepboxTensorSource4MetaAPI", sizeof(SourceMeta));
  return type;
}

SourceMeta* find_source(GstBuffer* data) {
  return reinterpret_cast<SourceMeta*>(gst_buffer_get_meta(data, source_api()));
}

SourceMeta* add_source(GstBuffer* data) {
  static const GstMetaInfo* info =
      meta_info(source_api(), "KeepboxTensorSource4Meta", sizeof(SourceMeta),
                {init_source, release_source, transform_source});
  return reinterpret_cast<SourceMeta*>(gst_buffer_add_meta(data, info, nullptr));
}

auto but_for_geometry(const TensorSource& source) {
  return std::tie(source.model, source.detector, source.contract, source.iou_threshold,
                  source.units, source.labels, source.labels_of, source.open_rows, source.objects);
}

}  // namespace

bool operator==(const TensorSource& a, const TensorSource& b) {
  return a.producer == b.producer && a.file == b.file && a.geometry == b.geometry &&
         a.tiles == b.tiles && a.held == b.held && a.lost_geometry == b.lost_geometry &&
         but_for_geometry(a) == but_for_geometry(b);
}

bool same_source(const SharedTensorSource& a, const SharedTensorSource& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

bool same_producer(const SharedTensorSource& a, const SharedTensorSource& b) {
  return a == b || (a != nullptr && b != nullptr && a->geometry.model == b->geometry.model &&
                    a->tiles.size() == b->tiles.size() && a->has_geometry() == b->has_geometry() &&
                    but_for_geometry(*a) == but_for_geometry(*b));
}

bool same_element(const SharedTensorSource& a, const SharedTensorSource& b) {
  const bool known = a != nullptr && b != nullptr && a->producer != 0 && b->producer != 0;
  return known ? a->producer == b->producer : same_producer(a, b);
}

uint64_t new_producer() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

void set_tensor_source(GstBuffer* data, SharedTensorSource source) {
  SourceMeta* there = find_source(data);
  (there != nullptr ? there : add_source(data))->source = std::move(source);
}

SharedTensorSource tensor_source(GstBuffer* data) {
  const SourceMeta* meta = data != nullptr ? find_source(data) : nullptr;
  return meta != nullptr ? meta->source : nullptr;
}

}  // namespace keepbox
