// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes, reads and transforms the mtd of box records.
#include "gst/metas/records/boxrecords.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>

namespace keepbox {
namespace {

constexpr const char* kName = "keepbox-boxes";
constexpr const char* kWeakName = "keepbox-weak-boxes";

/// The header of an mtd of records. New members are appended: the writer's are within
/// `header_size`, the others keep their defaults.
struct Header {
  guint32 header_size = sizeof(Header);
  guint32 record_size = sizeof(BoxRecord);
  guint32 count = 0;
  GQuark model = 0;
  gfloat tolerance = 1;   // in pixels; initially that of rounding and of the width of a pixel
  guint32 unnamed = 0;    // true: the model's name is the decoder's own
  guint32 held = 0;       // true: the boxes are from an earlier frame
  guint32 predicted = 0;  // true: the boxes are where a tracker expects them
  guint32 parts = 0;      // true: the boxes are parts of others
  guint32 coco = 0;       // true: the model's classes are COCO's

  BoxModel of_model() const {
    return {model, unnamed != 0, held != 0, predicted != 0, parts != 0, coco != 0};
  }
};

// Mtds are packed, so our structs must not need more than four bytes of alignment.
static_assert(alignof(Header) <= 4 && alignof(BoxRecord) <= 4);

/// The size written by the first version.
constexpr gsize kMinHeader = offsetof(Header, held);

/// Opens an mtd of records, if it has the declared length.
std::optional<RecordBlock> open_block(const GstAnalyticsMtd& mtd) {
  return open_records(mtd, kMinHeader, sizeof(BoxRecord));
}

gsize known_bytes(const RecordBlock& block) {
  return std::min(sizeof(Header), static_cast<gsize>(block.first - block.header));
}

Header header_of(const RecordBlock& block) {
  Header out;
  std::memcpy(&out, block.header, known_bytes(block));
  return out;
}

void map_record(BoxRecord& record, const PixelMap& map) {
  const OrientedBox to =
      map(OrientedBox{{record.x1, record.y1, record.x2, record.y2}, record.angle});
  record.x1 = to.box.x1;
  record.y1 = to.box.y1;
  record.x2 = to.box.x2;
  record.y2 = to.box.y2;
  record.angle = to.angle;
}

/// Returns the tolerance after a transform: positions and sizes are each truncated to integers,
/// which adds up at the far edges.
gfloat tolerance_after(gfloat tolerance, const PixelMap& map) {
  return tolerance * static_cast<gfloat>(map.growth()) + 2;
}

void map_block(const GstAnalyticsMtd& mtd, const PixelMap& map) {
  const auto block = open_block(mtd);
  if (!block) return;
  for (guint i = 0; i < block->count; ++i) {
    auto record = read_as<BoxRecord>(block->record(i));
    map_record(record, map);
    std::memcpy(block->record(i), &record, sizeof record);
  }
  Header header = header_of(*block);
  header.tolerance = tolerance_after(header.tolerance, map);
  std::memcpy(block->header, &header, known_bytes(*block));
}

const GstAnalyticsMtdImpl kImpl = {kName, transform_records<map_block>, nullptr, {}};
const GstAnalyticsMtdImpl kWeakImpl = {kWeakName, transform_records<map_block>, nullptr, {}};

/// True if a detection and a record are the same box within that many pixels.
bool is_same_box(const Detected& od, const BoxRecord& record, gfloat tolerance) {
  if (od.label != record.label || od.score != record.score) return false;
  // Values from others may be anything, and sums may exceed 32 bits.
  const auto near = [tolerance](gint64 a, gfloat b) {
    return std::abs(static_cast<gfloat>(a) - b) <= tolerance;
  };
  return std::abs(od.angle - record.angle) < 0.01f && near(od.x, record.x1) &&
         near(od.y, record.y1) && near(gint64{od.x} + od.width, record.x2) &&
         near(gint64{od.y} + od.height, record.y2);
}

/// Moves a record to its place in another picture. @return false if its box is not there.
bool place_record(BoxRecord& record, std::span<const Placed> placed, const PixelMap& map) {
  if (is_weak(record.od_id)) {
    map_record(record, map);
    return true;
  }
  if (record.od_id >= placed.size()) return false;
  const Placed& there = placed[record.od_id];
  record.od_id = there.od_id;
  std::tie(record.x1, record.y1, record.x2, record.y2) =
      std::tie(there.box.x1, there.box.y1, there.box.x2, there.box.y2);
  record.angle = there.angle;
  return there.od_id != G_MAXUINT && there.precise;
}

}  // namespace

gsize bytes_of_records(gsize count) { return sizeof(Header) + count * sizeof(BoxRecord); }

bool is_records(GstAnalyticsMtdType type) {
  return is_named(type, kName) || is_named(type, kWeakName);
}

Detected detected(const GstAnalyticsODMtd& od) {
  Detected out;
  gst_analytics_od_mtd_get_oriented_location(&od, &out.x, &out.y, &out.width, &out.height,
                                             &out.angle, &out.score);
  out.label = gst_analytics_od_mtd_get_obj_type(&od);
  return out;
}

BoxModel model_of(const FrameBox& box) {
  return {box.model, box.unnamed, box.held, box.predicted, box.parent.has_value(), box.coco};
}

BoxRecord record_of(const FrameBox& box) {
  return {box.od_id,  *box.class_id, *box.anchor, box.label,  box.score,
          box.box.x1, box.box.y1,    box.box.x2,  box.box.y2, box.angle};
}

RecordWriter::RecordWriter(GstAnalyticsRelationMeta* meta, gsize count, const BoxModel& model,
                           bool weak) {
  if (count == 0) return;
  const Header header{.count = static_cast<guint32>(count),
                      .model = model.name,
                      .unnamed = model.unnamed,
                      .held = model.held,
                      .predicted = model.predicted,
                      .parts = model.parts,
                      .coco = model.coco};
  GstAnalyticsMtd mtd;
  next_ = static_cast<guint8*>(gst_analytics_relation_meta_add_mtd(meta, weak ? &kWeakImpl : &kImpl,
                                                                   bytes_of_records(count), &mtd));
  std::memcpy(next_, &header, sizeof header);
  next_ += sizeof header;
}

void RecordWriter::add(const BoxRecord& record) {
  std::memcpy(next_, &record, sizeof record);
  next_ += sizeof record;
}

BoxRecords::BoxRecords(GstAnalyticsRelationMeta* meta) {
  for (const GstAnalyticsMtd& mtd : mtds_named(meta, kName))
    if (const auto records = open_block(mtd)) {
      const Header header = header_of(*records);
      blocks_.push_back({*records, header.of_model(), header.tolerance});
    }
}

std::optional<BoxRecords::Found> BoxRecords::find(guint od_id, const Detected& detection) const {
  for (const Block& block : blocks_) {
    const guint8* at = block.records.find(od_id);
    if (at == nullptr) continue;
    const auto record = read_as<BoxRecord>(at);
    if (is_same_box(detection, record, block.tolerance)) return Found{record, block.model};
  }
  return std::nullopt;
}

std::vector<WeakRecord> weak_records(GstAnalyticsRelationMeta* meta) {
  std::vector<WeakRecord> out;
  for (const GstAnalyticsMtd& mtd : mtds_named(meta, kWeakName)) {
    const auto block = open_block(mtd);
    for (guint i = 0; block && i < block->count; ++i)
      out.push_back({read_as<BoxRecord>(block->record(i)), header_of(*block).of_model()});
  }
  return out;
}

void carry_records(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                   std::span<const Placed> placed, const PixelMap& map) {
  const auto block = open_block(mtd);
  if (!block) return;
  std::vector<BoxRecord> carried;
  for (guint i = 0; i < block->count; ++i) {
    auto record = read_as<BoxRecord>(block->record(i));
    if (place_record(record, placed, map)) carried.push_back(record);
  }
  const bool weak = is_named(gst_analytics_mtd_get_mtd_type(&mtd), kWeakName);
  RecordWriter writer(to, carried.size(), header_of(*block).of_model(), weak);
  for (const BoxRecord& record : carried) writer.add(record);
}

}  // namespace keepbox
