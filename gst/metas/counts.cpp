// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts of a frame's lines and zones as a meta.
#include "gst/metas/counts.h"

#include <gst/video/video.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

#include "gst/metas/relationmeta.h"
#include "gst/metas/wire.h"
#include "gst/tensors/provenance.h"

namespace keepbox {
namespace {

struct CountsMeta {
  GstMeta meta;
  std::shared_ptr<const FrameCounts> counts;  // made and destroyed by init and release
};

CountsMeta* cast(GstMeta* meta) { return reinterpret_cast<CountsMeta*>(meta); }

gboolean init_counts(GstMeta* meta, gpointer, GstBuffer*) {
  new (&cast(meta)->counts) std::shared_ptr<const FrameCounts>;
  return TRUE;
}

void release_counts(GstMeta* meta, GstBuffer*) { std::destroy_at(&cast(meta)->counts); }

gboolean move_counts(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer data);

GType counts_api() {
  static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_ORIENTATION_STR,
                                GST_META_TAG_VIDEO_SIZE_STR, nullptr};
  static const GType type = meta_api("KeepboxCountsMetaAPI", sizeof(CountsMeta), tags);
  return type;
}

CountsMeta* find_counts(GstBuffer* buffer) {
  return cast(gst_buffer_get_meta(buffer, counts_api()));
}

void set_counts(GstBuffer* buffer, std::shared_ptr<const FrameCounts> counts) {
  static const GstMetaInfo* info = meta_info(counts_api(), "KeepboxCountsMeta", sizeof(CountsMeta),
                                             {init_counts, release_counts, move_counts});
  CountsMeta* there = find_counts(buffer);
  if (there == nullptr) there = cast(gst_buffer_add_meta(buffer, info, nullptr));
  there->counts = std::move(counts);
}

gboolean move_counts(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer data) {
  // Kept while the meta's list may be changed: `to` may be the same buffer.
  const std::shared_ptr<const FrameCounts> counts = cast(meta)->counts;
  if (GST_META_TRANSFORM_IS_COPY(type)) return set_counts(to, counts), TRUE;
  const auto map = map_of_transform(type, data);
  if (!map) return FALSE;
  set_counts(to, std::make_shared<FrameCounts>(moved_counts(*counts, *map)));
  return TRUE;
}

Corner moved(Corner p, const PixelMap& map) {
  const auto [x, y] = map.point(p.x, p.y);
  return {x, y};
}

/// True if the map exchanges left and right around a point.
bool mirrors(const PixelMap& map, Corner at) {
  const Corner here = moved(at, map), right = moved({at.x + 1, at.y}, map),
               below = moved({at.x, at.y + 1}, map);
  return (right.x - here.x) * (below.y - here.y) < (right.y - here.y) * (below.x - here.x);
}

template <class T>
void move_all(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::move_iterator(from.begin()), std::move_iterator(from.end()));
}

}  // namespace

const char* word_of(CountNote::Kind kind) {
  switch (kind) {
    case CountNote::Kind::kCrossed: return "crossed";
    case CountNote::Kind::kUncertain: return "uncertain";
    case CountNote::Kind::kEntered: return "entered";
    case CountNote::Kind::kLeft: return "left";
    case CountNote::Kind::kDwelt: return "dwelt";
    case CountNote::Kind::kCrowded: break;
  }
  return "crowded";
}

void attach_counts(GstBuffer* buffer, FrameCounts counts) {
  add_wire_meta(buffer);
  FrameCounts all;
  if (const FrameCounts* there = counts_of(buffer)) all = *there;
  move_all(counts.lines, all.lines);
  move_all(counts.zones, all.zones);
  move_all(counts.notes, all.notes);
  set_counts(buffer, std::make_shared<FrameCounts>(std::move(all)));
}

const FrameCounts* counts_of(GstBuffer* buffer) {
  const CountsMeta* meta = find_counts(buffer);
  return meta != nullptr ? meta->counts.get() : nullptr;
}

bool is_counts(GType api) { return api == counts_api(); }

namespace {

constexpr const char* kEvent = "keepbox-counts";
constexpr const char* kBytes = "bytes";

}  // namespace

GstEvent* counts_event(const FrameCounts& counts) {
  const std::vector<guint8> packed = pack_counts(counts);
  g_autoptr(GBytes) bytes = g_bytes_new(packed.data(), packed.size());
  return gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM,
                              gst_structure_new(kEvent, kBytes, G_TYPE_BYTES, bytes, nullptr));
}

std::optional<FrameCounts> counts_of_event(GstEvent* event) {
  if (GST_EVENT_TYPE(event) != GST_EVENT_CUSTOM_DOWNSTREAM || !gst_event_has_name(event, kEvent))
    return std::nullopt;
  g_autoptr(GBytes) bytes = nullptr;
  gst_structure_get(gst_event_get_structure(event), kBytes, G_TYPE_BYTES, &bytes, nullptr);
  if (bytes == nullptr) return std::nullopt;
  gsize size = 0;
  const auto* data = static_cast<const guint8*>(g_bytes_get_data(bytes, &size));
  auto out = unpack_counts({data, size});
  return out ? std::optional(*std::move(out)) : std::nullopt;
}

FrameCounts moved_counts(const FrameCounts& counts, const PixelMap& map) {
  FrameCounts out = counts;
  for (LineCount& line : out.lines) {
    const bool mirrored = mirrors(map, line.points[0]);
    for (Corner& point : line.points) point = moved(point, map);
    if (mirrored) std::swap(line.points[0], line.points[1]);
  }
  for (ZoneCount& zone : out.zones)
    for (Corner& corner : zone.corners) corner = moved(corner, map);
  return out;
}

namespace {

template <class T>
void drop_first(std::vector<T>& list, const std::vector<T>& there) {
  const size_t count = std::min(list.size(), there.size());
  list.erase(list.begin(), list.begin() + static_cast<ptrdiff_t>(count));
}

}  // namespace

/// Puts the counts that the frame has first in its copy. Does not map them back, because a scaler
/// need not have noted how it fitted the picture.
void carry_counts(GstBuffer* from, GstBuffer* to, const PixelMap& map) {
  const FrameCounts* all = counts_of(from);
  if (all == nullptr) return;
  FrameCounts added = moved_counts(*all, map);
  if (const FrameCounts* there = counts_of(to)) {
    drop_first(added.lines, there->lines);
    drop_first(added.zones, there->zones);
    drop_first(added.notes, there->notes);
  }
  if (!added.empty()) attach_counts(to, std::move(added));
}

}  // namespace keepbox
