// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes, reads and transforms the mtds of objects' images.
#include "gst/metas/records/picturerecords.h"

namespace keepbox {
namespace {

constexpr const char* kPicturesName = "keepbox-pictures";

struct PicturesHeader : BlockHead {
  guint32 producer_low = 0, producer_high = 0;

  guint64 producer() const { return guint64{producer_high} << 32 | producer_low; }
};

static_assert(alignof(PictureRecord) <= 4 && alignof(PicturesHeader) <= 4);

std::optional<RecordBlock> open_pictures(const GstAnalyticsMtd& mtd) {
  return open_records(mtd, sizeof(PicturesHeader), sizeof(PictureRecord));
}

CropPoint moved(const CropPoint& point, const PixelMap& map) {
  const auto to = map.point(point.x, point.y);
  return {static_cast<float>(to.x), static_cast<float>(to.y)};
}

PictureRecord moved(const PictureRecord& from, const PixelMap& map) {
  return {from.od_id, from.image, moved(from.origin, map), moved(from.right, map),
          moved(from.down, map)};
}

void map_pictures(const GstAnalyticsMtd& mtd, const PixelMap& map) {
  const auto block = open_pictures(mtd);
  if (!block) return;
  for (guint i = 0; i < block->count; ++i) {
    const PictureRecord record = moved(read_as<PictureRecord>(block->record(i)), map);
    std::memcpy(block->record(i), &record, sizeof record);
  }
}

const GstAnalyticsMtdImpl kPicturesImpl = {
    kPicturesName, transform_records<map_pictures>, nullptr, {}};

bool is_detection(GstAnalyticsRelationMeta* meta, guint id) {
  GstAnalyticsODMtd od;
  return gst_analytics_relation_meta_get_od_mtd(meta, id, &od);
}

/// Returns the records of objects that are still on the frame.
std::vector<PictureRecord> all_records(GstBuffer* frame, guint64 producer) {
  std::vector<PictureRecord> out;
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(frame);
  if (meta == nullptr) return out;
  for (const GstAnalyticsMtd& mtd : mtds_named(meta, kPicturesName)) {
    const auto block = open_pictures(mtd);
    if (!block || read_as<PicturesHeader>(block->header).producer() != producer) continue;
    for (guint i = 0; i < block->count; ++i) {
      const auto record = read_as<PictureRecord>(block->record(i));
      if (is_detection(meta, record.od_id)) out.push_back(record);
    }
  }
  return out;
}

}  // namespace

void add_pictures(GstAnalyticsRelationMeta* meta, guint64 producer,
                  std::span<const PictureRecord> records) {
  if (records.empty()) return;
  const PicturesHeader header{
      {sizeof header, sizeof(PictureRecord), static_cast<guint32>(records.size())},
      static_cast<guint32>(producer),
      static_cast<guint32>(producer >> 32)};
  GstAnalyticsMtd mtd;
  auto* data = static_cast<guint8*>(gst_analytics_relation_meta_add_mtd(
      meta, &kPicturesImpl, sizeof header + records.size_bytes(), &mtd));
  std::memcpy(data, &header, sizeof header);
  std::memcpy(data + sizeof header, records.data(), records.size_bytes());
}

void add_left_out(GstBuffer* frame, guint64 producer, std::span<const guint> objects) {
  std::vector<PictureRecord> records;
  for (const guint od_id : objects)
    records.push_back({.od_id = od_id, .image = PictureRecord::kLeftOut});
  if (!records.empty())
    add_pictures(gst_buffer_get_analytics_relation_meta(frame), producer, records);
}

std::vector<PictureRecord> read_pictures(GstBuffer* frame, guint64 producer) {
  std::vector<PictureRecord> out = all_records(frame, producer);
  std::erase_if(out, [](const auto& each) { return each.image == PictureRecord::kLeftOut; });
  return out;
}

std::vector<guint> read_left_out(GstBuffer* frame, guint64 producer) {
  std::vector<guint> out;
  for (const PictureRecord& each : all_records(frame, producer))
    if (each.image == PictureRecord::kLeftOut) out.push_back(each.od_id);
  return out;
}

bool is_pictures(GstAnalyticsMtdType type) { return is_named(type, kPicturesName); }

void carry_pictures(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                    std::span<const Placed> placed, const PixelMap& map) {
  const auto block = open_pictures(mtd);
  if (!block) return;
  std::vector<PictureRecord> carried;
  for (guint i = 0; i < block->count; ++i) {
    PictureRecord record = moved(read_as<PictureRecord>(block->record(i)), map);
    if (!is_carried(placed, record.od_id)) continue;
    record.od_id = placed[record.od_id].od_id;
    carried.push_back(record);
  }
  add_pictures(to, read_as<PicturesHeader>(block->header).producer(), carried);
}

}  // namespace keepbox
