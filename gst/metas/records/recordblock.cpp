// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds and opens mtds of our own types.
#include "gst/metas/records/recordblock.h"

#include <algorithm>

namespace keepbox {

const guint8* RecordBlock::find(guint od_id) const {
  guint low = 0, high = count;
  while (low < high) {
    const guint middle = low + (high - low) / 2;
    const auto there = read_as<guint>(record(middle));
    if (there == od_id) return record(middle);
    if (there < od_id) low = middle + 1;
    else high = middle;
  }
  return nullptr;
}

std::optional<RecordBlock> open_records(const GstAnalyticsMtd& mtd, gsize header_size,
                                        gsize record_size) {
  auto* data = static_cast<guint8*>(gst_analytics_relation_meta_get_mtd_data(mtd.meta, mtd.id));
  const gsize size = gst_analytics_mtd_get_size(&mtd);
  if (data == nullptr || size < std::max(header_size, sizeof(BlockHead))) return std::nullopt;
  const auto head = read_as<BlockHead>(data);
  const guint64 bytes = head.header_size + guint64{head.record_size} * head.count;
  if (head.header_size < header_size || head.record_size < record_size || bytes > size)
    return std::nullopt;
  return RecordBlock{data, data + head.header_size, head.record_size, head.count};
}

bool is_named(GstAnalyticsMtdType type, std::string_view name) {
  return gst_analytics_mtd_type_get_name(type) == name;
}

std::vector<GstAnalyticsMtd> mtds_named(GstAnalyticsRelationMeta* meta, std::string_view name) {
  std::vector<GstAnalyticsMtd> out;
  if (meta == nullptr) return out;
  gpointer state = nullptr;
  GstAnalyticsMtd mtd;
  while (gst_analytics_relation_meta_iterate(meta, &state, GST_ANALYTICS_MTD_TYPE_ANY, &mtd))
    if (is_named(gst_analytics_mtd_get_mtd_type(&mtd), name)) out.push_back(mtd);
  return out;
}

std::optional<PixelMap> map_of(GQuark type, gpointer data) {
  if (auto map = matrix_of(type, data)) return map;
  if (!GST_VIDEO_META_TRANSFORM_IS_SCALE(type)) return std::nullopt;
  const auto& change = *static_cast<const GstVideoMetaTransform*>(data);
  return PixelMap::scale(double{1} * change.out_info->width / std::max(change.in_info->width, 1),
                         double{1} * change.out_info->height / std::max(change.in_info->height, 1));
}

}  // namespace keepbox
