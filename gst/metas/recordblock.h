// SPDX-License-Identifier: LGPL-2.1-or-later
// Mtds of types of our own: a header, then a record for each box that they describe.
//
// Being in the relation meta they are copied, transformed and dropped with the detections. Their
// bytes say how they are laid out, so that the plugin and an application's libkeepbox may be of
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

/// What a header begins with. New members of headers and records go to the end.
struct BlockHead {
  guint32 header_size = 0;  // bytes in front of the records
  guint32 record_size = 0;  // bytes
  guint32 count = 0;        // records
};

/// The bytes of such an mtd: valid until mtds are added to its meta.
struct RecordBlock {
  guint8* header = nullptr;
  guint8* first = nullptr;
  guint size = 0, count = 0;  // of a record in bytes; of records

  guint8* record(guint i) const { return first + gsize{i} * size; }
  /// The record of a detection, or nullptr. @pre their first members are ids, and ascend.
  const guint8* find(guint od_id) const;
};

/// @param header_size, record_size the least that whoever reads understands, in bytes.
/// @return nothing where the mtd has less, or is shorter than it says.
std::optional<RecordBlock> open_records(const GstAnalyticsMtd& mtd, gsize header_size,
                                        gsize record_size);

/// Is it the type of that name? The plugin's and libkeepbox's differ in address.
bool is_named(GstAnalyticsMtdType type, std::string_view name);

/// All mtds of the type of that name.
std::vector<GstAnalyticsMtd> mtds_named(GstAnalyticsRelationMeta* meta, std::string_view name);

/// Where a transform of GStreamer's moves pixels: a matrix or a scale; nothing for others.
std::optional<PixelMap> map_of(GQuark type, gpointer data);

/// A GstAnalyticsMtdImpl's transform. @param kMap maps an mtd in place: it has a copy of the bytes.
template <void (*kMap)(const GstAnalyticsMtd&, const PixelMap&)>
gboolean transform_records(GstBuffer*, GstAnalyticsMtd* mtd, GstBuffer*, GQuark type,
                           gpointer data) {
  if (GST_META_TRANSFORM_IS_COPY(type)) return TRUE;
  const auto map = map_of(type, data);
  if (map) kMap(*mtd, *map);
  return map.has_value();
}

/// A header or record out of bytes that may be longer.
template <class T>
T read_as(const guint8* at) {
  T out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

}  // namespace keepbox
