// SPDX-License-Identifier: LGPL-2.1-or-later
// Mtds of our own types: a header, followed by one record per box.
//
// The relation meta copies, transforms and drops them with the detections. Their
// layout is in the data itself, so that the plugin and an application's libkeepbox may have
// different versions.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "gst/metas/pixelmap.h"

namespace keepbox {

/// The start of every header. New members of headers and records are appended.
struct BlockHead {
  guint32 header_size = 0;  // bytes before the records
  guint32 record_size = 0;  // bytes
  guint32 count = 0;        // records
};

/// The bytes of such an mtd; valid until mtds are added to its meta.
struct RecordBlock {
  guint8* header = nullptr;
  guint8* first = nullptr;
  guint size = 0, count = 0;  // size of a record in bytes; number of records

  guint8* record(guint i) const { return first + gsize{i} * size; }
  /// Returns the record of a detection, or nullptr. @pre records start with their ids, ascending.
  const guint8* find(guint od_id) const;
};

/// @param header_size, record_size minimum sizes in bytes that the reader requires. @return
/// std::nullopt if the mtd has less, or is shorter than it declares.
std::optional<RecordBlock> open_records(const GstAnalyticsMtd& mtd, gsize header_size,
                                        gsize record_size);

/// True if it is the type of that name. Plugin and libkeepbox have different addresses.
bool is_named(GstAnalyticsMtdType type, std::string_view name);

/// Returns all mtds of the type of that name. @param meta may be nullptr
std::vector<GstAnalyticsMtd> mtds_named(GstAnalyticsRelationMeta* meta, std::string_view name);

/// Returns the map of a GStreamer transform: a matrix or a scale; std::nullopt for others.
std::optional<PixelMap> map_of(GQuark type, gpointer data);

/// Implements the transform of a GstAnalyticsMtdImpl. @param kMap maps an mtd in place, on its own
/// copy.
template <void (*kMap)(const GstAnalyticsMtd&, const PixelMap&)>
gboolean transform_records(GstBuffer*, GstAnalyticsMtd* mtd, GstBuffer*, GQuark type,
                           gpointer data) {
  if (GST_META_TRANSFORM_IS_COPY(type)) return TRUE;
  const auto map = map_of(type, data);
  if (map) kMap(*mtd, *map);
  return map.has_value();
}

/// Reads a header or record from bytes that may be longer.
template <class T>
T read_as(const guint8* at) {
  T out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

}  // namespace keepbox
