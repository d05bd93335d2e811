// SPDX-License-Identifier: LGPL-2.1-or-later
// Records in a relation meta: what GStreamer's own metas of boxes lack.
#include "gst/metas/records.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <ranges>
#include <string_view>

namespace keepbox {
namespace {

/// The start of every header.
struct BlockHead {
  guint32 header_size = 0;  // bytes before the records
  guint32 record_size = 0;  // bytes
  guint32 count = 0;        // records
};

struct BoxesHeader {
  BlockHead head;
  GQuark model = 0;
  gfloat tolerance = 1;   // in pixels; initially that of rounding and of the width of a pixel
  guint32 unnamed = 0;    // true: the model's name is the decoder's own
  guint32 held = 0;       // true: the boxes are from an earlier frame; the first version ends here
  guint32 predicted = 0;  // true: the boxes are where a tracker expects them
  guint32 parts = 0;      // true: the boxes are parts of others
  guint32 coco = 0;       // true: the model's classes are COCO's
};

struct LabelsHeader {
  BlockHead head;
  GQuark model = 0, attribute = 0;
};

struct LabelRecord {
  guint od_id = 0, class_id = 0;
  GQuark name = 0;
  gfloat level = 0;
  guint32 length = 0;  // of the text in bytes
  gchar text[kMaxLabelText] = {};
};

/// Followed by the edges of keypoints, padded to four bytes, and then per box its od_id and items.
struct PayloadHeader {
  BlockHead head;
  GQuark name = 0;    // of the set of keypoints, or of the kind of values
  guint32 items = 0;  // per box: keypoints or values
  guint32 edges = 0;
  guint32 edges_at = sizeof(PayloadHeader);  // offset from the start of the header
};

struct PicturesHeader {
  BlockHead head;
  guint32 producer_low = 0, producer_high = 0;
};

struct SkippedHeader {
  BlockHead head;
  GQuark model = 0;
};

/// Reads a record from bytes that may be longer.
template <class T>
T read_as(const guint8* at) {
  static_assert(alignof(T) <= 4, "mtds are packed");
  T out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

/// Reads a header, of which an earlier version may have fewer members.
template <class T>
T header_of(const RecordBlock& block) {
  static_assert(alignof(T) <= 4, "mtds are packed");
  T out;
  std::memcpy(&out, block.header, std::min<gsize>(sizeof out, block.header_size));
  return out;
}

/// The payload of a box: keypoints or values.
struct BoxPayload {
  std::span<const float> floats{};
  std::span<const Edge> edges{};
  GQuark name = 0;
};

BoxPayload points_of(const FrameBox& box) {
  const std::span<const Keypoint> points = box.keypoints.points;
  return {{reinterpret_cast<const float*>(points.data()), points.size() * kPointValues},
          box.keypoints.edges,
          box.keypoints.name};
}

BoxPayload values_of(const FrameBox& box) { return {box.values.values, {}, box.values.kind}; }

gsize bytes_of_floats(gsize count) { return sizeof(guint) + count * sizeof(float); }

}  // namespace

/// When records go along to another frame.
enum class Carried : guint8 {
  kNever,
  kWithObject,
  kWithRecord,  // with an object whose record of kBoxes agrees with it
};

/// A row of the table.
struct RecordType {
  GstAnalyticsMtdImpl impl;           // its name, and what happens to an mtd if the picture changes
  gsize header_size, record_size;     // of the first version
  Carried carried = Carried::kNever;  // to other frames
  /// Moves a record with the picture. @param there of its detection, if carried with one.
  void (*map)(guint8* record, const RecordBlock& of, const PixelMap& map,
              const Placed* there) = nullptr;
  /// Notes how far the detections may be from the records. @param map nullptr: just rounded.
  void (*note_rounding)(const RecordBlock& block, const PixelMap* map) = nullptr;
  BoxPayload (*payload)(const FrameBox& box) = nullptr;
  guint floats = 0;  // of an item of the payload
};

namespace {

template <class Record, void (*kMove)(Record&, const PixelMap&, const Placed*)>
void move_record(guint8* at, const RecordBlock&, const PixelMap& map, const Placed* there) {
  auto record = read_as<Record>(at);
  kMove(record, map, there);
  std::memcpy(at, &record, sizeof record);
}

void move_box(BoxRecord& record, const PixelMap& map, const Placed* there) {
  const OrientedBox to =
      there != nullptr ? OrientedBox{there->box, there->angle} : map(record.place());
  record.x1 = to.box.x1, record.y1 = to.box.y1;
  record.x2 = to.box.x2, record.y2 = to.box.y2;
  record.angle = to.angle;
}

/// Positions and sizes are each truncated to integers, which adds up at the far edges.
void note_rounding(const RecordBlock& block, const PixelMap* map) {
  auto header = header_of<BoxesHeader>(block);
  header.tolerance = map == nullptr ? BoxesHeader{}.tolerance
                                    : header.tolerance * static_cast<gfloat>(map->growth()) + 2;
  std::memcpy(block.header, &header, std::min<gsize>(sizeof header, block.header_size));
}

void move_mask(MaskRecord& record, const PixelMap& map, const Placed*) {
  const Box to = map(record.place());
  record = {record.od_id, record.seg_id, to.x1, to.y1, to.x2, to.y2};
}

void move_picture(PictureRecord& record, const PixelMap& map, const Placed*) {
  for (CropPoint* point : {&record.origin, &record.right, &record.down}) {
    const auto to = map.point(point->x, point->y);
    *point = {static_cast<float>(to.x), static_cast<float>(to.y)};
  }
}

void move_points(guint8* record, const RecordBlock& of, const PixelMap& map, const Placed*) {
  const guint items = header_of<PayloadHeader>(of).items;
  for (guint i = 0; i < items; ++i) {
    guint8* at = record + sizeof(guint) + i * sizeof(Keypoint);
    auto point = read_as<Keypoint>(at);
    const auto to = map.point(point.x, point.y);
    point.x = static_cast<float>(to.x);
    point.y = static_cast<float>(to.y);
    std::memcpy(at, &point, sizeof point);
  }
}

gboolean follow(GstBuffer*, GstAnalyticsMtd* mtd, GstBuffer*, GQuark type, gpointer data);
gboolean stay(GstBuffer*, GstAnalyticsMtd*, GstBuffer*, GQuark, gpointer) { return TRUE; }

constexpr GstAnalyticsMtdImpl impl(const char* name, decltype(&follow) transform = follow) {
  return {name, transform, nullptr, {}};
}

constexpr gsize kBoxesHeader = offsetof(BoxesHeader, held);
constexpr auto kMoveBox = move_record<BoxRecord, move_box>;
constexpr auto kMoveMask = move_record<MaskRecord, move_mask>;

const RecordType kTypes[] = {
    {impl("keepbox-boxes"), kBoxesHeader, sizeof(BoxRecord), Carried::kWithRecord, kMoveBox,
     note_rounding},
    {impl("keepbox-weak-boxes"), kBoxesHeader, sizeof(BoxRecord), Carried::kWithRecord, kMoveBox,
     note_rounding},
    {impl("keepbox-labels"), sizeof(LabelsHeader), sizeof(LabelRecord), Carried::kWithObject},
    {impl("keepbox-masks"), sizeof(BlockHead), sizeof(MaskRecord), Carried::kNever, kMoveMask},
    {impl("keepbox-points"), sizeof(PayloadHeader), sizeof(guint), Carried::kWithRecord,
     move_points, nullptr, points_of, kPointValues},
    {impl("keepbox-values"), sizeof(PayloadHeader), sizeof(guint), Carried::kWithRecord, nullptr,
     nullptr, values_of, 1},
    {impl("keepbox-pictures"), sizeof(PicturesHeader), sizeof(PictureRecord), Carried::kWithObject,
     move_record<PictureRecord, move_picture>},
    {impl("keepbox-skipped", stay), sizeof(SkippedHeader), 0, Carried::kWithObject},
};
static_assert(std::size(kTypes) == kRecordKinds);

const RecordType& row(RecordKind kind) { return kTypes[static_cast<size_t>(kind)]; }

/// Returns our type with that name, or nullptr.
const RecordType* type_of(GstAnalyticsMtdType type) {
  const std::string_view name = gst_analytics_mtd_type_get_name(type);
  const auto* found = std::ranges::find(
      kTypes, name, [](const RecordType& each) { return std::string_view(each.impl.name); });
  return found == std::end(kTypes) ? nullptr : found;
}

/// True if the parts of a payload are within its bounds. Spans into it are returned; GStreamer 1.26
/// aligns mtds to eight bytes, undocumented.
bool is_whole_payload(const RecordBlock& block) {
  const auto header = header_of<PayloadHeader>(block);
  const guint64 edges_end = header.edges_at + guint64{header.edges} * sizeof(Edge);
  return reinterpret_cast<guintptr>(block.record(0)) % alignof(float) == 0 &&
         edges_end <= block.header_size && block.record_size % alignof(float) == 0 &&
         bytes_of_floats(gsize{header.items} * block.type->floats) <= block.record_size;
}

/// Opens an mtd of any version of ours if it is as long as its header requires.
std::optional<RecordBlock> open(const GstAnalyticsMtd& mtd) {
  const RecordType* type = type_of(gst_analytics_mtd_get_mtd_type(&mtd));
  if (type == nullptr) return std::nullopt;
  auto* data = static_cast<guint8*>(gst_analytics_relation_meta_get_mtd_data(mtd.meta, mtd.id));
  const gsize size = gst_analytics_mtd_get_size(&mtd);
  if (data == nullptr || size < type->header_size) return std::nullopt;
  const auto head = read_as<BlockHead>(data);
  const guint64 bytes = head.header_size + guint64{head.record_size} * head.count;
  if (head.header_size < type->header_size || head.record_size < type->record_size || bytes > size)
    return std::nullopt;
  const RecordBlock out{type, data, head.header_size, head.record_size, head.count};
  return type->payload == nullptr || is_whole_payload(out) ? std::optional(out) : std::nullopt;
}

gboolean follow(GstBuffer*, GstAnalyticsMtd* mtd, GstBuffer*, GQuark type, gpointer data) {
  if (GST_META_TRANSFORM_IS_COPY(type)) return TRUE;
  const auto map = map_of_transform(type, data);
  const auto block = map ? open(*mtd) : std::nullopt;
  if (!block) return map.has_value();
  if (block->type->map != nullptr)
    for (guint i = 0; i < block->count; ++i)
      block->type->map(block->record(i), *block, *map, nullptr);
  if (block->type->note_rounding != nullptr) block->type->note_rounding(*block, &*map);
  return TRUE;
}

/// Adds an mtd for records that are still to be written. @param header of which the start is set.
RecordBlock add_block(GstAnalyticsRelationMeta* meta, const RecordType& type,
                      std::span<const guint8> header, gsize record_size, gsize count) {
  const BlockHead head{static_cast<guint32>(header.size()), static_cast<guint32>(record_size),
                       static_cast<guint32>(count)};
  GstAnalyticsMtd mtd;
  auto* data = static_cast<guint8*>(gst_analytics_relation_meta_add_mtd(
      meta, &type.impl, header.size() + count * record_size, &mtd));
  std::memcpy(data, header.data(), header.size());
  std::memcpy(data, &head, sizeof head);
  return {&type, data, head.header_size, head.record_size, head.count};
}

template <class T>
std::span<const guint8> bytes_of(const T& value) {
  return {reinterpret_cast<const guint8*>(&value), sizeof value};
}

template <class Record>
void add_block(GstAnalyticsRelationMeta* meta, RecordKind kind, const auto& header,
               std::span<const Record> records) {
  if (records.empty()) return;
  const RecordBlock block =
      add_block(meta, row(kind), bytes_of(header), sizeof(Record), records.size());
  std::memcpy(block.record(0), records.data(), records.size_bytes());
}

/// True for ids of what is no detection: weak boxes, and the whole frame.
bool is_no_detection(guint od_id) { return (od_id & weak_id(0)) != 0; }

bool is_kept(const RecordBlock& block, guint od_id, std::span<const Placed> placed) {
  return is_no_detection(od_id) ||
         (is_carried(placed, od_id) &&
          (block.type->carried == Carried::kWithObject || placed[od_id].precise));
}

}  // namespace

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

bool is_record(GstAnalyticsMtdType type) { return type_of(type) != nullptr; }

void carry_records(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                   std::span<const Placed> placed, const PixelMap& map) {
  const auto block = open(mtd);
  if (!block || block->type->carried == Carried::kNever) return;
  const RecordType& type = *block->type;
  std::vector<guint> kept;
  for (guint i = 0; i < block->count; ++i)
    if (is_kept(*block, read_as<guint>(block->record(i)), placed)) kept.push_back(i);
  if (kept.empty() && type.record_size != 0) return;
  const RecordBlock added =
      add_block(to, type, {block->header, block->header_size}, block->record_size, kept.size());
  for (guint i = 0; i < added.count; ++i) {
    guint8* record = added.record(i);
    std::memcpy(record, block->record(kept[i]), added.record_size);
    const auto od_id = read_as<guint>(record);
    const Placed* there = is_no_detection(od_id) ? nullptr : &placed[od_id];
    if (there != nullptr) std::memcpy(record, &there->od_id, sizeof od_id);
    if (type.map != nullptr) type.map(record, added, map, there);
  }
  if (type.note_rounding != nullptr) type.note_rounding(added, nullptr);
}

namespace {

BoxRecord record_of(const FrameBox& box) {
  return {box.od_id,  *box.class_id, *box.anchor, box.label,  box.score,
          box.box.x1, box.box.y1,    box.box.x2,  box.box.y2, box.angle};
}

void add_boxes(GstAnalyticsRelationMeta* meta, const auto& boxes) {
  std::vector<BoxRecord> records;
  for (const FrameBox& box : boxes) records.push_back(record_of(box));
  const BoxModel model = model_of(boxes.front());
  const BoxesHeader header{.head = {},
                           .model = model.name,
                           .unnamed = model.unnamed,
                           .held = model.held,
                           .predicted = model.predicted,
                           .parts = model.parts,
                           .coco = model.coco};
  const bool weak = is_no_detection(records.front().od_id);
  add_block<BoxRecord>(meta, weak ? RecordKind::kWeakBoxes : RecordKind::kBoxes, header, records);
}

bool are_alike(const BoxPayload& a, const BoxPayload& b) {
  return a.name == b.name && a.floats.size() == b.floats.size() &&
         std::ranges::equal(a.edges, b.edges, [](const Edge& one, const Edge& other) {
           return one.from == other.from && one.to == other.to;
         });
}

void add_payloads(GstAnalyticsRelationMeta* meta, const RecordType& type, const auto& boxes) {
  const BoxPayload first = type.payload(boxes.front());
  const PayloadHeader header{.head = {},
                             .name = first.name,
                             .items = static_cast<guint32>(first.floats.size() / type.floats),
                             .edges = static_cast<guint32>(first.edges.size())};
  std::vector<guint8> bytes(sizeof header + (first.edges.size_bytes() + 3) / 4 * 4);
  std::ranges::copy(bytes_of(header), bytes.begin());
  if (!first.edges.empty())
    std::memcpy(bytes.data() + sizeof header, first.edges.data(), first.edges.size_bytes());
  const RecordBlock block = add_block(meta, type, bytes, bytes_of_floats(first.floats.size()),
                                      static_cast<gsize>(std::ranges::distance(boxes)));
  guint8* next = block.record(0);
  for (const FrameBox& box : boxes) {
    std::memcpy(next, &box.od_id, sizeof box.od_id);
    std::memcpy(next + sizeof box.od_id, type.payload(box).floats.data(),
                first.floats.size_bytes());
    next += block.record_size;
  }
}

/// Returns the text cut to whole characters that fit.
std::string_view cut_to_fit(const std::string& text) {
  if (text.size() <= kMaxLabelText) return text;
  const gchar* end = g_utf8_find_prev_char(text.data(), text.data() + kMaxLabelText + 1);
  return {text.data(), end};
}

}  // namespace

BoxModel model_of(const FrameBox& box) {
  return {box.model, box.unnamed, box.held, box.predicted, box.parent.has_value(), box.coco};
}

Detected detected(const GstAnalyticsODMtd& od) {
  Detected out;
  gst_analytics_od_mtd_get_oriented_location(&od, &out.x, &out.y, &out.width, &out.height,
                                             &out.angle, &out.score);
  out.label = gst_analytics_od_mtd_get_obj_type(&od);
  return out;
}

void add_records(GstAnalyticsRelationMeta* meta, std::span<const FrameBox> boxes) {
  auto precise =
      boxes | std::views::filter([](const FrameBox& box) { return box.class_id && box.anchor; });
  const auto same_model = [](const FrameBox& a, const FrameBox& b) {
    return model_of(a) == model_of(b);
  };
  for (const auto& of_model : precise | std::views::chunk_by(same_model)) add_boxes(meta, of_model);
  for (const RecordType& type : kTypes) {
    if (type.payload == nullptr) continue;
    const auto has = [&](const FrameBox& box) { return !type.payload(box).floats.empty(); };
    const auto alike = [&](const FrameBox& a, const FrameBox& b) {
      return are_alike(type.payload(a), type.payload(b));
    };
    auto carriers = precise | std::views::filter(has);
    for (const auto& chunk : carriers | std::views::chunk_by(alike))
      add_payloads(meta, type, chunk);
  }
}

gsize bytes_of_records(std::span<const FrameBox> boxes) {
  gsize out = 512;  // of headers, with edges
  for (const FrameBox& box : boxes) {
    out += sizeof(BoxRecord) + (box.mask.pixels != nullptr ? sizeof(MaskRecord) : 0);
    for (const RecordType& type : kTypes)
      if (type.payload != nullptr) out += bytes_of_floats(type.payload(box).floats.size());
  }
  return out;
}

void add_masks(GstAnalyticsRelationMeta* meta, std::span<const MaskRecord> records) {
  add_block(meta, RecordKind::kMasks, BlockHead{}, records);
}

void add_labels(GstAnalyticsRelationMeta* meta, const LabelSubject& about,
                std::span<const ObjectLabel> labels) {
  std::vector<LabelRecord> records;
  for (const ObjectLabel& label : labels) {
    const std::string_view text = cut_to_fit(label.text);
    records.push_back(
        {label.od_id, label.class_id, label.name, label.level, static_cast<guint32>(text.size())});
    std::ranges::copy(text, records.back().text);
  }
  add_block<LabelRecord>(meta, RecordKind::kLabels, LabelsHeader{{}, about.model, about.attribute},
                         records);
}

void add_skipped(GstAnalyticsRelationMeta* meta, GQuark model) {
  add_block(meta, row(RecordKind::kSkipped), bytes_of(SkippedHeader{{}, model}), 0, 0);
}

void add_pictures(GstAnalyticsRelationMeta* meta, guint64 producer,
                  std::span<const PictureRecord> records) {
  const PicturesHeader header{
      {}, static_cast<guint32>(producer), static_cast<guint32>(producer >> 32)};
  add_block(meta, RecordKind::kPictures, header, records);
}

void add_left_out(GstBuffer* frame, guint64 producer, std::span<const guint> objects) {
  std::vector<PictureRecord> records;
  for (const guint od_id : objects)
    records.push_back({.od_id = od_id, .image = PictureRecord::kLeftOut});
  if (!records.empty())
    add_pictures(gst_buffer_get_analytics_relation_meta(frame), producer, records);
}

std::vector<PictureRecord> read_pictures(GstBuffer* frame, guint64 producer) {
  std::vector<PictureRecord> out =
      Records(gst_buffer_get_analytics_relation_meta(frame)).pictures(producer);
  std::erase_if(out, [](const auto& each) { return each.image == PictureRecord::kLeftOut; });
  return out;
}

std::vector<guint> read_left_out(GstBuffer* frame, guint64 producer) {
  std::vector<guint> out;
  for (const PictureRecord& each :
       Records(gst_buffer_get_analytics_relation_meta(frame)).pictures(producer))
    if (each.image == PictureRecord::kLeftOut) out.push_back(each.od_id);
  return out;
}

Records::Records(GstAnalyticsRelationMeta* meta) : meta_(meta) {
  if (meta == nullptr) return;
  gpointer state = nullptr;
  GstAnalyticsMtd mtd;
  while (gst_analytics_relation_meta_iterate(meta, &state, GST_ANALYTICS_MTD_TYPE_ANY, &mtd))
    if (const auto block = open(mtd))
      blocks_[static_cast<size_t>(block->type - kTypes)].push_back(*block);
}

namespace {

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

BoxModel model_of(const BoxesHeader& header) {
  return {header.model,          header.unnamed != 0, header.held != 0,
          header.predicted != 0, header.parts != 0,   header.coco != 0};
}

BoxPayload find_payload(std::span<const RecordBlock> blocks, guint od_id) {
  for (const RecordBlock& block : blocks) {
    const guint8* record = block.find(od_id);
    if (record == nullptr) continue;
    const auto header = header_of<PayloadHeader>(block);
    const std::span edges(reinterpret_cast<const Edge*>(block.header + header.edges_at),
                          header.edges);
    const bool inside = std::ranges::all_of(edges, [&](const Edge& edge) {
      return edge.from < header.items && edge.to < header.items;
    });
    return {{reinterpret_cast<const float*>(record + sizeof(guint)),
             gsize{header.items} * block.type->floats},
            inside ? edges : std::span<const Edge>{},
            header.name};
  }
  return {};
}

}  // namespace

std::optional<RecordedBox> Records::box(guint od_id, const Detected& detection) const {
  for (const RecordBlock& block : of(RecordKind::kBoxes)) {
    const guint8* at = block.find(od_id);
    if (at == nullptr) continue;
    const auto record = read_as<BoxRecord>(at);
    const auto header = header_of<BoxesHeader>(block);
    if (is_same_box(detection, record, header.tolerance))
      return RecordedBox{record, model_of(header)};
  }
  return std::nullopt;
}

std::vector<RecordedBox> Records::weak_boxes() const {
  std::vector<RecordedBox> out;
  for (const RecordBlock& block : of(RecordKind::kWeakBoxes))
    for (guint i = 0; i < block.count; ++i)
      out.push_back({read_as<BoxRecord>(block.record(i)), model_of(header_of<BoxesHeader>(block))});
  return out;
}

FrameKeypoints Records::keypoints(guint od_id) const {
  const BoxPayload found = find_payload(of(RecordKind::kPoints), od_id);
  const auto* points = reinterpret_cast<const Keypoint*>(found.floats.data());
  return {{points, found.floats.size() / kPointValues}, found.edges, found.name};
}

FrameValues Records::values(guint od_id) const {
  const BoxPayload found = find_payload(of(RecordKind::kValues), od_id);
  return {found.floats, found.name};
}

std::optional<MaskRecord> Records::mask(guint seg_id) const {
  for (const RecordBlock& block : of(RecordKind::kMasks))
    for (guint i = 0; i < block.count; ++i)
      if (const auto record = read_as<MaskRecord>(block.record(i)); record.seg_id == seg_id)
        return record;
  return std::nullopt;
}

void Records::read_labels(guint od_id, BoxLabels& out) const {
  for (const RecordBlock& block : of(RecordKind::kLabels)) {
    const guint8* at = block.find(od_id);
    if (at == nullptr) continue;
    const auto about = header_of<LabelsHeader>(block);
    const auto record = read_as<LabelRecord>(at);
    BoxLabel label{.level = record.level, .attribute = about.attribute, .model = about.model};
    if (record.class_id != G_MAXUINT) label.class_id = record.class_id;
    if (const gchar* name = g_quark_to_string(record.name)) label.text = name;
    else
      label.text = {reinterpret_cast<const gchar*>(at) + offsetof(LabelRecord, text),
                    std::min<gsize>(record.length, kMaxLabelText)};
    out.add(label);
  }
}

std::vector<PictureRecord> Records::pictures(guint64 producer) const {
  std::vector<PictureRecord> out;
  for (const RecordBlock& block : of(RecordKind::kPictures)) {
    const auto header = header_of<PicturesHeader>(block);
    if ((guint64{header.producer_high} << 32 | header.producer_low) != producer) continue;
    for (guint i = 0; i < block.count; ++i) {
      const auto record = read_as<PictureRecord>(block.record(i));
      GstAnalyticsODMtd od;
      if (gst_analytics_relation_meta_get_od_mtd(meta_, record.od_id, &od)) out.push_back(record);
    }
  }
  return out;
}

std::vector<GQuark> Records::skipped() const {
  std::vector<GQuark> out;
  for (const RecordBlock& block : of(RecordKind::kSkipped))
    if (const GQuark model = header_of<SkippedHeader>(block).model;
        !std::ranges::contains(out, model))
      out.push_back(model);
  return out;
}

}  // namespace keepbox
