// SPDX-License-Identifier: LGPL-2.1-or-later
// Serializes the relation meta of the buffer that the meta is on.
#include "gst/metas/wire/wiremeta.h"

#include <gst/analytics/analytics.h>

#include <exception>
#include <string>

#include "gst/metas/relationmeta.h"
#include "gst/metas/skippedmodels.h"
#include "gst/metas/wire/boxwire.h"
#include "gst/tensors/metatype.h"

namespace keepbox {
namespace {

/// Meta whose layout never changes, because the first of several copies of this code registers it.
struct WireMeta {
  GstMeta meta;
  GstBuffer* buffer;  // that it is on
};

constexpr const char* kWireName = "KeepboxBoxesMeta";  // part of the bytes

gboolean init_wire(GstMeta* meta, gpointer, GstBuffer* buffer) {
  reinterpret_cast<WireMeta*>(meta)->buffer = buffer;
  return TRUE;
}

/// Follows every change, because it holds nothing that changes.
gboolean transform_wire(GstBuffer* to, GstMeta*, GstBuffer*, GQuark, gpointer) {
  add_wire_meta(to);
  return TRUE;
}

gboolean serialize_wire(const GstMeta* meta, GstByteArrayInterface* data, guint8* version) try {
  GstBuffer* buffer = reinterpret_cast<const WireMeta*>(meta)->buffer;
  // A frame without boxes that nobody looked at is no frame without objects.
  if (gst_buffer_get_analytics_relation_meta(buffer) == nullptr && !SkippedModels(buffer).any())
    return FALSE;
  const std::vector<guint8> bytes = pack_boxes(buffer);
  *version = kWireVersion;
  return gst_byte_array_interface_append_data(data, bytes.data(), bytes.size());
} catch (const std::exception& error) {
  GST_ERROR("boxes cannot be packed: %s", error.what());
  return FALSE;
}

GstMeta* deserialize_wire(const GstMetaInfo* info, GstBuffer* buffer, const guint8* data,
                          gsize size, guint8 version) try {
  if (version != kWireVersion) {
    GST_WARNING(
        "boxes have version %d, but this keepbox reads version %d: both processes need the "
        "same keepbox",
        version, kWireVersion);
    return nullptr;
  }
  if (gst_buffer_get_analytics_relation_meta(buffer) == nullptr)
    if (const Status status = unpack_boxes({data, size}, buffer); !status) {
      GST_WARNING("%s", status.error().message().c_str());
      return nullptr;
    }
  add_wire_meta(buffer);
  return gst_buffer_get_meta(buffer, info->api);
} catch (const std::exception& error) {
  GST_ERROR("boxes cannot be unpacked: %s", error.what());
  return nullptr;
}

const GstMetaInfo* register_info() {
  if (const GstMetaInfo* there = gst_meta_get_info(kWireName)) return there;
  const GType api = meta_api("KeepboxBoxesMetaAPI", sizeof(WireMeta));
  GstMetaInfo* info = gst_meta_info_new(api, kWireName, sizeof(WireMeta));
  info->init_func = init_wire;
  info->transform_func = transform_wire;
  info->serialize_func = serialize_wire;
  info->deserialize_func = deserialize_wire;
  return gst_meta_info_register(info);
}

const GstMetaInfo* wire_info() {
  static const GstMetaInfo* info = register_info();
  return info;
}

}  // namespace

void register_wire_meta() { wire_info(); }

void add_wire_meta(GstBuffer* buffer) {
  const GstMetaInfo* info = wire_info();
  if (gst_buffer_get_meta(buffer, info->api) == nullptr) gst_buffer_add_meta(buffer, info, nullptr);
}

}  // namespace keepbox
