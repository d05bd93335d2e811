// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes relation metas of the right size, and rounds boxes for them.
#include "gst/metas/relationmeta.h"

#include <gst/video/video.h>

#include <algorithm>
#include <cmath>

#include "gst/metas/wire/wiremeta.h"

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

}  // namespace keepbox
