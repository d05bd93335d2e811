// SPDX-License-Identifier: LGPL-2.1-or-later
// Records in a relation meta: what GStreamer's own metas of boxes lack.
#include "gst/metas/records.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <tuple>

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

namespace {

constexpr const char* kLabelsName = "keepbox-labels";

struct LabelsHeader : BlockHead {
  GQuark model = 0, attribute = 0;
};

/// New members are appended.
struct Record {
  guint od_id = 0, class_id = 0;
  GQuark name = 0;
  gfloat level = 0;
  guint32 length = 0;  // of the text in bytes
  gchar text[kMaxLabelText] = {};
};

static_assert(alignof(Record) <= 4 && alignof(LabelsHeader) <= 4);

std::optional<RecordBlock> open_labels(const GstAnalyticsMtd& mtd) {
  return open_records(mtd, sizeof(LabelsHeader), sizeof(Record));
}

void map_labels(const GstAnalyticsMtd&, const PixelMap&) {}

const GstAnalyticsMtdImpl kLabelsImpl = {kLabelsName, transform_records<map_labels>, nullptr, {}};

/// Returns the text cut to whole characters that fit.
std::string_view cut_to_fit(const std::string& text) {
  if (text.size() <= kMaxLabelText) return text;
  const gchar* end = g_utf8_find_prev_char(text.data(), text.data() + kMaxLabelText + 1);
  return {text.data(), end};
}

Record record_of(const ObjectLabel& label) {
  Record out{label.od_id, label.class_id, label.name, label.level};
  const std::string_view text = cut_to_fit(label.text);
  out.length = static_cast<guint32>(text.size());
  std::ranges::copy(text, out.text);
  return out;
}

/// Adds an mtd for that many records, and returns where they begin.
guint8* add_block(GstAnalyticsRelationMeta* meta, const LabelSubject& about, gsize count) {
  const LabelsHeader header{
      {sizeof header, sizeof(Record), static_cast<guint32>(count)}, about.model, about.attribute};
  GstAnalyticsMtd mtd;
  auto* data = static_cast<guint8*>(gst_analytics_relation_meta_add_mtd(
      meta, &kLabelsImpl, sizeof header + count * sizeof(Record), &mtd));
  std::memcpy(data, &header, sizeof header);
  return data + sizeof header;
}

void add_records(GstAnalyticsRelationMeta* meta, const LabelSubject& about,
                 std::span<const Record> records) {
  if (records.empty()) return;
  std::memcpy(add_block(meta, about, records.size()), records.data(), records.size_bytes());
}

}  // namespace

void add_labels(GstAnalyticsRelationMeta* meta, const LabelSubject& about,
                std::span<const ObjectLabel> labels) {
  std::vector<Record> records;
  for (const ObjectLabel& each : labels) records.push_back(record_of(each));
  add_records(meta, about, records);
}

LabelRecords::LabelRecords(GstAnalyticsRelationMeta* meta) {
  for (const GstAnalyticsMtd& mtd : mtds_named(meta, kLabelsName))
    if (const auto block = open_labels(mtd)) {
      const auto header = read_as<LabelsHeader>(block->header);
      blocks_.push_back({*block, {header.model, header.attribute}});
    }
}

void LabelRecords::find(guint od_id, BoxLabels& out) const {
  for (const Block& block : blocks_) {
    const guint8* at = block.records.find(od_id);
    if (at == nullptr) continue;
    const auto record = read_as<Record>(at);
    BoxLabel label{
        .level = record.level, .attribute = block.about.attribute, .model = block.about.model};
    if (record.class_id != G_MAXUINT) label.class_id = record.class_id;
    if (const gchar* name = g_quark_to_string(record.name)) label.text = name;
    else
      label.text = {reinterpret_cast<const gchar*>(at) + offsetof(Record, text),
                    std::min<gsize>(record.length, kMaxLabelText)};
    out.add(label);
  }
}

bool is_labels(GstAnalyticsMtdType type) { return is_named(type, kLabelsName); }

void carry_labels(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                  std::span<const Placed> placed) {
  const auto block = open_labels(mtd);
  if (!block) return;
  const auto header = read_as<LabelsHeader>(block->header);
  std::vector<Record> carried;
  for (guint i = 0; i < block->count; ++i) {
    auto record = read_as<Record>(block->record(i));
    if (record.od_id != kWholeFrame) {
      if (!is_carried(placed, record.od_id)) continue;
      record.od_id = placed[record.od_id].od_id;
    }
    carried.push_back(record);
  }
  add_records(to, {header.model, header.attribute}, carried);
}

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

namespace {

/// A type of mtd.
struct PayloadType {
  GstAnalyticsMtdImpl impl;
  Moves moves;
  guint each;  // floats per item
};

/// Followed by the edges of keypoints, padded to four bytes, and then per box its od_id and items.
struct PayloadHeader : BlockHead {
  GQuark name = 0;    // of the set of keypoints, or of the kind of values
  guint32 items = 0;  // per box: keypoints or values
  guint32 edges = 0;
  guint32 edges_at = sizeof(PayloadHeader);  // offset from the start of the header
};

static_assert(alignof(PayloadHeader) <= 4 && sizeof(Edge) == 2);

void map_payload(const GstAnalyticsMtd& mtd, const PixelMap& map);

const PayloadType kPayloadTypes[] = {
    {{"keepbox-points", transform_records<map_payload>, nullptr, {}},
     Moves::kAsPoints,
     kPointValues},
    {{"keepbox-values", transform_records<map_payload>, nullptr, {}}, Moves::kFixed, 1}};

/// Returns our type with that name, or nullptr.
const PayloadType* type_of(GstAnalyticsMtdType type) {
  const auto* found = std::ranges::find_if(
      kPayloadTypes, [&](const PayloadType& each) { return is_named(type, each.impl.name); });
  return found == std::end(kPayloadTypes) ? nullptr : found;
}

gsize bytes_of_edges(gsize count) { return (count * sizeof(Edge) + 3) / 4 * 4; }
gsize bytes_of_record(gsize floats) { return sizeof(guint) + floats * sizeof(float); }

/// Opens an mtd of any version of ours if its parts are within bounds; else std::nullopt.
std::optional<RecordBlock> open_payload(const GstAnalyticsMtd& mtd, const PayloadType& type) {
  const auto block = open_records(mtd, sizeof(PayloadHeader), sizeof(guint));
  if (!block) return block;
  const auto header = read_as<PayloadHeader>(block->header);
  const guint64 edges_end = header.edges_at + guint64{header.edges} * sizeof(Edge);
  // Spans into it are returned. GStreamer 1.26 aligns mtds to eight bytes, undocumented.
  const bool aligned = reinterpret_cast<guintptr>(block->first) % alignof(float) == 0;
  const bool whole = edges_end <= header.header_size && block->size % alignof(float) == 0 &&
                     bytes_of_record(gsize{header.items} * type.each) <= block->size;
  return aligned && whole ? block : std::nullopt;
}

std::span<const Edge> edges_of(const RecordBlock& block, const PayloadHeader& header) {
  const std::span out(reinterpret_cast<const Edge*>(block.header + header.edges_at), header.edges);
  const bool inside = std::ranges::all_of(
      out, [&](const Edge& edge) { return edge.from < header.items && edge.to < header.items; });
  return inside ? out : std::span<const Edge>{};
}

void map_record(guint8* record, guint items, const PayloadType& type, const PixelMap& map) {
  if (type.moves != Moves::kAsPoints) return;
  for (guint i = 0; i < items; ++i) {
    guint8* at = record + sizeof(guint) + i * sizeof(Keypoint);
    auto point = read_as<Keypoint>(at);
    const auto to = map.point(point.x, point.y);
    point.x = static_cast<float>(to.x);
    point.y = static_cast<float>(to.y);
    std::memcpy(at, &point, sizeof point);
  }
}

void map_payload(const GstAnalyticsMtd& mtd, const PixelMap& map) {
  const PayloadType* type = type_of(gst_analytics_mtd_get_mtd_type(&mtd));
  const auto block = type != nullptr ? open_payload(mtd, *type) : std::nullopt;
  if (!block) return;
  const guint items = read_as<PayloadHeader>(block->header).items;
  for (guint i = 0; i < block->count; ++i) map_record(block->record(i), items, *type, map);
}

/// The values of a box for a type.
struct Payload {
  std::span<const float> floats;
  std::span<const Edge> edges;
  GQuark name;
};

Payload payload_of(const FrameBox& box, Moves moves) {
  if (moves == Moves::kFixed) return {box.values.values, {}, box.values.kind};
  const std::span<const Keypoint> points = box.keypoints.points;
  return {{reinterpret_cast<const float*>(points.data()), points.size() * kPointValues},
          box.keypoints.edges,
          box.keypoints.name};
}

/// Returns the boxes with class and anchor that have values of a type.
auto carriers(std::span<const FrameBox> boxes, const PayloadType& type) {
  return boxes | std::views::filter([&type](const FrameBox& box) {
           return box.class_id && box.anchor && !payload_of(box, type.moves).floats.empty();
         });
}

bool are_alike(const Payload& a, const Payload& b) {
  return a.name == b.name && a.floats.size() == b.floats.size() &&
         std::ranges::equal(a.edges, b.edges, [](const Edge& one, const Edge& other) {
           return one.from == other.from && one.to == other.to;
         });
}

void add_block(GstAnalyticsRelationMeta* meta, const PayloadType& type, const auto& boxes) {
  const Payload first = payload_of(*boxes.begin(), type.moves);
  const auto count = static_cast<gsize>(std::ranges::distance(boxes));
  const gsize header_size = sizeof(PayloadHeader) + bytes_of_edges(first.edges.size());
  const gsize record_size = bytes_of_record(first.floats.size());
  const PayloadHeader header{{static_cast<guint32>(header_size), static_cast<guint32>(record_size),
                              static_cast<guint32>(count)},
                             first.name,
                             static_cast<guint32>(first.floats.size() / type.each),
                             static_cast<guint32>(first.edges.size())};
  GstAnalyticsMtd mtd;
  auto* next = static_cast<guint8*>(gst_analytics_relation_meta_add_mtd(
      meta, &type.impl, header_size + count * record_size, &mtd));
  std::memset(next, 0, header_size);
  std::memcpy(next, &header, sizeof header);
  if (!first.edges.empty())
    std::memcpy(next + sizeof header, first.edges.data(), first.edges.size_bytes());
  next += header_size;
  for (const FrameBox& box : boxes) {
    std::memcpy(next, &box.od_id, sizeof box.od_id);
    std::memcpy(next + sizeof box.od_id, payload_of(box, type.moves).floats.data(),
                first.floats.size_bytes());
    next += record_size;
  }
}

}  // namespace

gsize bytes_of_payloads(std::span<const FrameBox> boxes) {
  gsize all = 0;
  for (const PayloadType& type : kPayloadTypes) {
    gsize out = 0;
    for (const FrameBox& box : carriers(boxes, type))
      out += bytes_of_record(payload_of(box, type.moves).floats.size());
    if (out == 0) continue;
    all += out + sizeof(PayloadHeader) +
           bytes_of_edges(payload_of(boxes.front(), type.moves).edges.size());
  }
  return all;
}

void add_payloads(GstAnalyticsRelationMeta* meta, std::span<const FrameBox> boxes) {
  for (const PayloadType& type : kPayloadTypes) {
    const auto alike = [&](const FrameBox& a, const FrameBox& b) {
      return are_alike(payload_of(a, type.moves), payload_of(b, type.moves));
    };
    for (const auto& chunk : carriers(boxes, type) | std::views::chunk_by(alike))
      add_block(meta, type, chunk);
  }
}

PayloadRecords::PayloadRecords(GstAnalyticsRelationMeta* meta) {
  for (const PayloadType& type : kPayloadTypes)
    for (const GstAnalyticsMtd& mtd : mtds_named(meta, type.impl.name))
      if (const auto records = open_payload(mtd, type)) {
        const auto header = read_as<PayloadHeader>(records->header);
        blocks_.push_back({type.moves, *records, header.name, header.items * type.each,
                           edges_of(*records, header)});
      }
}

PayloadRecords::Found PayloadRecords::find(Moves moves, guint od_id) const {
  for (const Block& block : blocks_) {
    const guint8* record = block.moves == moves ? block.records.find(od_id) : nullptr;
    if (record != nullptr)
      return {&block, {reinterpret_cast<const float*>(record + sizeof(guint)), block.count}};
  }
  return {};
}

FrameKeypoints PayloadRecords::keypoints(guint od_id) const {
  const auto [block, floats] = find(Moves::kAsPoints, od_id);
  if (block == nullptr) return {};
  return {{reinterpret_cast<const Keypoint*>(floats.data()), floats.size() / kPointValues},
          block->edges,
          block->name};
}

FrameValues PayloadRecords::values(guint od_id) const {
  const auto [block, floats] = find(Moves::kFixed, od_id);
  return block != nullptr ? FrameValues{floats, block->name} : FrameValues{};
}

bool is_payload(GstAnalyticsMtdType type) { return type_of(type) != nullptr; }

void carry_payload(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                   std::span<const Placed> placed, const PixelMap& map) {
  const PayloadType& type = *type_of(gst_analytics_mtd_get_mtd_type(&mtd));
  const auto block = open_payload(mtd, type);
  if (!block) return;
  std::vector<guint> kept;
  for (guint i = 0; i < block->count; ++i) {
    const auto id = read_as<guint>(block->record(i));
    if (is_weak(id)) kept.push_back(i);
    else if (id < placed.size() && placed[id].od_id != G_MAXUINT && placed[id].precise)
      kept.push_back(i);
  }
  if (kept.empty()) return;
  auto header = read_as<PayloadHeader>(block->header);
  header.count = static_cast<guint32>(kept.size());
  GstAnalyticsMtd added;
  auto* next = static_cast<guint8*>(gst_analytics_relation_meta_add_mtd(
      to, &type.impl, header.header_size + kept.size() * block->size, &added));
  std::memcpy(next, block->header, header.header_size);
  std::memcpy(next, &header, sizeof header);
  next += header.header_size;
  for (const guint i : kept) {
    std::memcpy(next, block->record(i), block->size);
    const auto id = read_as<guint>(next);
    if (!is_weak(id)) std::memcpy(next, &placed[id].od_id, sizeof id);
    map_record(next, header.items, type, map);
    next += block->size;
  }
}

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
