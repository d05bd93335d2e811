// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes, reads and transforms the mtds of payloads.
#include "gst/metas/records/payloadrecords.h"

#include <algorithm>
#include <iterator>
#include <ranges>

namespace keepbox {
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

}  // namespace keepbox
