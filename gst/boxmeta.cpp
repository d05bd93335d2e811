// SPDX-License-Identifier: LGPL-2.1-or-later
// Registers and transforms the meta of float boxes.
#include "gst/boxmeta.h"

#include <gst/video/video.h>

#include <algorithm>

namespace keepbox {
namespace {

struct BoxMeta {
  GstMeta meta;
  BoxRecord* boxes;
  gsize count;
};

gboolean init(GstMeta* meta, gpointer, GstBuffer*) {
  auto* self = reinterpret_cast<BoxMeta*>(meta);
  self->boxes = nullptr;
  self->count = 0;
  return TRUE;
}

void release(GstMeta* meta, GstBuffer*) {
  g_free(reinterpret_cast<BoxMeta*>(meta)->boxes);
}

void scale(std::span<BoxRecord> boxes, const GstVideoMetaTransform& change) {
  const float x = static_cast<float>(GST_VIDEO_INFO_WIDTH(change.out_info)) /
                  static_cast<float>(GST_VIDEO_INFO_WIDTH(change.in_info));
  const float y = static_cast<float>(GST_VIDEO_INFO_HEIGHT(change.out_info)) /
                  static_cast<float>(GST_VIDEO_INFO_HEIGHT(change.in_info));
  for (BoxRecord& box : boxes) {
    box.x1 *= x;
    box.x2 *= x;
    box.y1 *= y;
    box.y2 *= y;
  }
}

gboolean transform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer data);

constexpr const char* kApiName = "KeepboxBoxMetaAPI";

// Looked up first: an application that links this code beside the plugin shares its types.
GType api_type() {
  static const GType type = [] {
    if (const GType there = g_type_from_name(kApiName)) return there;
    static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_ORIENTATION_STR,
                                  GST_META_TAG_VIDEO_SIZE_STR, nullptr};
    return gst_meta_api_type_register(kApiName, tags);
  }();
  return type;
}

const GstMetaInfo* info() {
  static const GstMetaInfo* registered = [] {
    const GstMetaInfo* there = gst_meta_get_info("KeepboxBoxMeta");
    return there != nullptr ? there
                            : gst_meta_register(api_type(), "KeepboxBoxMeta", sizeof(BoxMeta), init,
                                                release, transform);
  }();
  return registered;
}

gboolean transform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer data) {
  const auto* self = reinterpret_cast<BoxMeta*>(meta);
  const bool copy = GST_META_TRANSFORM_IS_COPY(type);
  if (!copy && !GST_VIDEO_META_TRANSFORM_IS_SCALE(type)) return FALSE;
  std::ranges::copy(std::span(self->boxes, self->count), add_box_meta(to, self->count).begin());
  if (!copy) {
    auto* added = reinterpret_cast<BoxMeta*>(gst_buffer_get_meta(to, api_type()));
    scale({added->boxes, added->count}, *static_cast<GstVideoMetaTransform*>(data));
  }
  return TRUE;
}

}  // namespace

GType box_meta_api_type() { return api_type(); }

std::span<BoxRecord> add_box_meta(GstBuffer* buffer, size_t count) {
  auto* self = reinterpret_cast<BoxMeta*>(gst_buffer_get_meta(buffer, api_type()));
  if (self == nullptr)
    self = reinterpret_cast<BoxMeta*>(gst_buffer_add_meta(buffer, info(), nullptr));
  self->boxes = g_renew(BoxRecord, self->boxes, self->count + count);
  self->count += count;
  return std::span(self->boxes, self->count).last(count);
}

std::span<const BoxRecord> get_box_meta(GstBuffer* buffer) {
  // Registers nothing: two copies of this code that did so at once would be in each other's way.
  const GType api = g_type_from_name(kApiName);
  if (api == 0) return {};
  const auto* self = reinterpret_cast<BoxMeta*>(gst_buffer_get_meta(buffer, api));
  return self == nullptr ? std::span<const BoxRecord>() : std::span(self->boxes, self->count);
}

const BoxRecord* find_box(std::span<const BoxRecord> boxes, guint od_id) {
  const auto found = std::ranges::lower_bound(boxes, od_id, {}, &BoxRecord::od_id);
  return found == boxes.end() || found->od_id != od_id ? nullptr : &*found;
}

}  // namespace keepbox
