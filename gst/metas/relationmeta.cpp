// SPDX-License-Identifier: LGPL-2.1-or-later
// The relation meta of a frame: found, made, copied and serialized.
#include "gst/metas/relationmeta.h"

#include <gst/video/video.h>

#include <algorithm>
#include <cmath>
#include <exception>

#include "gst/metas/counts.h"
#include "gst/metas/skippedmodels.h"
#include "gst/metas/wire.h"
#include "gst/tensors/provenance.h"

namespace keepbox {
namespace {

constexpr gsize kBytesPerMtd = 96;  // slightly more than one needs
constexpr gsize kSlack = 16;        // mtds that other elements may add before the meta grows

/// Rounds one axis: edges at least a pixel apart, and inside the frame if its size is known.
void round_axis(float low, float high, uint32_t limit, gint& at, gint& extent) {
  constexpr float kFar = 1 << 24;  // all integers up to here are exact floats
  // Written so that NaN yields -kFar, unlike std::clamp().
  const auto whole = [&](float v) {
    return static_cast<gint>(v > -kFar ? std::min(v, kFar) : -kFar);
  };
  const auto edge = [&](float v) { return whole(std::floor(v + 0.5f)); };
  at = edge(low);
  extent = edge(high) - at;
  if (extent > 0) return;
  at = whole(std::floor(low));
  if (limit != 0) at = std::min(at, static_cast<gint>(limit) - 1);
  extent = 1;
}

}  // namespace

GstAnalyticsRelationMeta* relation_meta_for(GstBuffer* buffer, gsize mtds, gsize bytes) {
  add_wire_meta(buffer);
  if (auto* meta = gst_buffer_get_analytics_relation_meta(buffer)) return meta;
  GstAnalyticsRelationMetaInitParams params{};
  params.initial_relation_order = mtds + kSlack;
  params.initial_buf_size = (mtds + kSlack) * kBytesPerMtd + bytes;
  return gst_buffer_add_analytics_relation_meta_full(buffer, &params);
}

Pixels rounded(const Box& b, Size frame) {
  Pixels out{};
  round_axis(b.x1, b.x2, frame.width, out.x, out.width);
  round_axis(b.y1, b.y2, frame.height, out.y, out.height);
  return out;
}

std::optional<guint> parent_of(GstAnalyticsRelationMeta* meta, guint od_id) {
  GstAnalyticsMtd found;
  gpointer state = nullptr;
  const bool part = gst_analytics_relation_meta_get_direct_related(
      meta, od_id, GST_ANALYTICS_REL_TYPE_IS_PART_OF, gst_analytics_od_mtd_get_mtd_type(), &state,
      &found);
  return part && found.id != od_id ? std::optional(found.id) : std::nullopt;
}

bool is_analytics(GType api) {
  return api == gst_analytics_relation_meta_api_get_type() ||
         api == GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE;
}

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
  if (gst_buffer_get_analytics_relation_meta(buffer) == nullptr && !SkippedModels(buffer).any() &&
      counts_of(buffer) == nullptr)
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
  if (gst_buffer_get_analytics_relation_meta(buffer) == nullptr && counts_of(buffer) == nullptr)
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
