// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes, reads and transforms the mtd of keypoints.
#include "gst/metas/pointrecords.h"

#include <algorithm>
#include <ranges>

namespace keepbox {
namespace {

constexpr const char* kPointsName = "keepbox-points";

/// Followed by the edges, padded to four bytes, and then per box its od_id and keypoints.
struct PointsHeader : BlockHead {
  GQuark name = 0;
  guint32 points = 0;  // per box
  guint32 edges = 0;
  guint32 edges_at = sizeof(PointsHeader);  // offset from the start of the header
};

static_assert(alignof(PointsHeader) <= 4 && alignof(Keypoint) <= 4 && sizeof(Keypoint) == 12);
static_assert(sizeof(Edge) == 2);

gsize bytes_of_edges(gsize count) { return (count * sizeof(Edge) + 3) / 4 * 4; }
gsize bytes_of_record(gsize points) { return sizeof(guint) + points * sizeof(Keypoint); }

/// Opens an mtd of any version of ours if its parts are within bounds; else std::nullopt.
std::optional<RecordBlock> open_points(const GstAnalyticsMtd& mtd) {
  const auto block = open_records(mtd, sizeof(PointsHeader), sizeof(guint));
  if (!block) return block;
  const auto header = read_as<PointsHeader>(block->header);
  const guint64 edges_end = header.edges_at + guint64{header.edges} * sizeof(Edge);
  // Spans into it are returned. GStreamer 1.26 aligns mtds to eight bytes, undocumented.
  const bool aligned = reinterpret_cast<guintptr>(block->first) % alignof(Keypoint) == 0;
  const bool whole = edges_end <= header.header_size && block->size % alignof(Keypoint) == 0 &&
                     bytes_of_record(header.points) <= block->size;
  return aligned && whole ? block : std::nullopt;
}

std::span<const Edge> edges_of(const RecordBlock& block, const PointsHeader& header) {
  const std::span out(reinterpret_cast<const Edge*>(block.header + header.edges_at), header.edges);
  const bool inside = std::ranges::all_of(
      out, [&](const Edge& edge) { return edge.from < header.points && edge.to < header.points; });
  return inside ? out : std::span<const Edge>{};
}

void map_points(guint8* record, guint count, const PixelMap& map) {
  for (guint i = 0; i < count; ++i) {
    guint8* at = record + sizeof(guint) + i * sizeof(Keypoint);
    auto point = read_as<Keypoint>(at);
    const auto to = map.point(point.x, point.y);
    point.x = static_cast<float>(to.x);
    point.y = static_cast<float>(to.y);
    std::memcpy(at, &point, sizeof point);
  }
}

void map_all_points(const GstAnalyticsMtd& mtd, const PixelMap& map) {
  const auto block = open_points(mtd);
  if (!block) return;
  const guint points = read_as<PointsHeader>(block->header).points;
  for (guint i = 0; i < block->count; ++i) map_points(block->record(i), points, map);
}

const GstAnalyticsMtdImpl kPointsImpl = {
    kPointsName, transform_records<map_all_points>, nullptr, {}};

bool has_points(const FrameBox& box) {
  return box.class_id && box.anchor && !box.points.points.empty();
}

bool are_alike(const FrameBox& a, const FrameBox& b) {
  const FramePoints &p = a.points, &q = b.points;
  return p.name == q.name && p.points.size() == q.points.size() &&
         p.edges.data() == q.edges.data() && p.edges.size() == q.edges.size();
}

void add_block(GstAnalyticsRelationMeta* meta, gsize count, const auto& boxes) {
  const FramePoints& first = (*boxes.begin()).points;
  const gsize points = first.points.size();
  const gsize header_size = sizeof(PointsHeader) + bytes_of_edges(first.edges.size());
  const PointsHeader header{
      {static_cast<guint32>(header_size), static_cast<guint32>(bytes_of_record(points)),
       static_cast<guint32>(count)},
      first.name,
      static_cast<guint32>(points),
      static_cast<guint32>(first.edges.size())};
  GstAnalyticsMtd mtd;
  auto* next = static_cast<guint8*>(gst_analytics_relation_meta_add_mtd(
      meta, &kPointsImpl, header_size + count * header.record_size, &mtd));
  std::memset(next, 0, header_size);
  std::memcpy(next, &header, sizeof header);
  if (!first.edges.empty())
    std::memcpy(next + sizeof header, first.edges.data(), first.edges.size_bytes());
  next += header_size;
  for (const FrameBox& box : boxes) {
    std::memcpy(next, &box.od_id, sizeof box.od_id);
    std::memcpy(next + sizeof box.od_id, box.points.points.data(), points * sizeof(Keypoint));
    next += header.record_size;
  }
}

}  // namespace

gsize bytes_of_points(std::span<const FrameBox> boxes) {
  gsize out = 0;
  for (const FrameBox& box : boxes | std::views::filter(has_points))
    out += bytes_of_record(box.points.points.size());
  if (out == 0) return 0;
  return out + sizeof(PointsHeader) + bytes_of_edges(boxes.front().points.edges.size());
}

void add_points(GstAnalyticsRelationMeta* meta, std::span<const FrameBox> boxes) {
  for (const auto& alike : boxes | std::views::filter(has_points) | std::views::chunk_by(are_alike))
    add_block(meta, static_cast<gsize>(std::ranges::distance(alike)), alike);
}

PointRecords::PointRecords(GstAnalyticsRelationMeta* meta) {
  for (const GstAnalyticsMtd& mtd : mtds_named(meta, kPointsName))
    if (const auto records = open_points(mtd)) {
      const auto header = read_as<PointsHeader>(records->header);
      blocks_.push_back({*records, header.name, header.points, edges_of(*records, header)});
    }
}

FramePoints PointRecords::find(guint od_id) const {
  for (const Block& block : blocks_)
    if (const guint8* record = block.records.find(od_id))
      return {{reinterpret_cast<const Keypoint*>(record + sizeof(guint)), block.count},
              block.edges,
              block.name};
  return {};
}

bool is_points(GstAnalyticsMtdType type) { return is_named(type, kPointsName); }

void carry_points(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                  std::span<const Placed> placed, const PixelMap& map) {
  const auto block = open_points(mtd);
  if (!block) return;
  std::vector<guint> kept;
  for (guint i = 0; i < block->count; ++i) {
    const auto id = read_as<guint>(block->record(i));
    if (id < placed.size() && placed[id].od_id != G_MAXUINT && placed[id].precise)
      kept.push_back(i);
  }
  if (kept.empty()) return;
  auto header = read_as<PointsHeader>(block->header);
  header.count = static_cast<guint32>(kept.size());
  GstAnalyticsMtd added;
  auto* next = static_cast<guint8*>(gst_analytics_relation_meta_add_mtd(
      to, &kPointsImpl, header.header_size + kept.size() * block->size, &added));
  std::memcpy(next, block->header, header.header_size);
  std::memcpy(next, &header, sizeof header);
  next += header.header_size;
  for (const guint i : kept) {
    std::memcpy(next, block->record(i), block->size);
    std::memcpy(next, &placed[read_as<guint>(next)].od_id, sizeof(guint));
    map_points(next, header.points, map);
    next += block->size;
  }
}

}  // namespace keepbox
