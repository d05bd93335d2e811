// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes, reads and transforms the mtd of masks' places.
#include "gst/metas/records/maskrecords.h"

namespace keepbox {
namespace {

constexpr const char* kMasksName = "keepbox-masks";

static_assert(alignof(MaskRecord) <= 4);

std::optional<RecordBlock> open_masks(const GstAnalyticsMtd& mtd) {
  return open_records(mtd, sizeof(BlockHead), sizeof(MaskRecord));
}

void map_masks(const GstAnalyticsMtd& mtd, const PixelMap& map) {
  const auto block = open_masks(mtd);
  if (!block) return;
  for (guint i = 0; i < block->count; ++i) {
    auto record = read_as<MaskRecord>(block->record(i));
    const Box to = map(record.place());
    record = {record.od_id, record.seg_id, to.x1, to.y1, to.x2, to.y2};
    std::memcpy(block->record(i), &record, sizeof record);
  }
}

const GstAnalyticsMtdImpl kMasksImpl = {kMasksName, transform_records<map_masks>, nullptr, {}};

}  // namespace

gsize bytes_of_masks(gsize count) {
  return count == 0 ? 0 : sizeof(BlockHead) + count * sizeof(MaskRecord);
}

void add_masks(GstAnalyticsRelationMeta* meta, std::span<const MaskRecord> records) {
  if (records.empty()) return;
  const BlockHead head{sizeof head, sizeof(MaskRecord), static_cast<guint32>(records.size())};
  GstAnalyticsMtd mtd;
  auto* data = static_cast<guint8*>(
      gst_analytics_relation_meta_add_mtd(meta, &kMasksImpl, bytes_of_masks(records.size()), &mtd));
  std::memcpy(data, &head, sizeof head);
  std::memcpy(data + sizeof head, records.data(), records.size_bytes());
}

MaskRecords::MaskRecords(GstAnalyticsRelationMeta* meta) {
  for (const GstAnalyticsMtd& mtd : mtds_named(meta, kMasksName))
    if (const auto block = open_masks(mtd)) blocks_.push_back(*block);
}

std::optional<Box> MaskRecords::find(guint od_id, guint seg_id) const {
  for (const RecordBlock& block : blocks_)
    if (const guint8* at = block.find(od_id))
      if (const auto record = read_as<MaskRecord>(at); record.seg_id == seg_id)
        return record.place();
  return std::nullopt;
}

std::optional<MaskRecord> MaskRecords::of_mask(guint seg_id) const {
  for (const RecordBlock& block : blocks_)
    for (guint i = 0; i < block.count; ++i)
      if (const auto record = read_as<MaskRecord>(block.record(i)); record.seg_id == seg_id)
        return record;
  return std::nullopt;
}

bool is_masks(GstAnalyticsMtdType type) { return is_named(type, kMasksName); }

}  // namespace keepbox
