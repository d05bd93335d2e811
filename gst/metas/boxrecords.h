// SPDX-License-Identifier: LGPL-2.1-or-later
// The floats of boxes, beside the integers of their GstAnalyticsODMtd and in the same meta.
// A decoder's boxes are one mtd.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include <optional>
#include <span>
#include <vector>

#include "core/box.h"
#include "gst/metas/recordblock.h"

namespace keepbox {

/// One box as it was decoded. Coordinates are pixels of the video frame, edges exclusive at the
/// right and the bottom. New members go to the end.
struct BoxRecord {
  guint od_id = 0;     // of the GstAnalyticsODMtd with the same box, rounded
  guint class_id = 0;  // as the model numbers it
  guint anchor = 0;    // row or cell of the tensor
  GQuark label = 0;
  gfloat score = 0;
  gfloat x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  gfloat angle = 0;  // radians, clockwise; 0 for upright boxes
};

/// Bytes that the records of so many boxes take of a relation meta.
gsize bytes_of_records(gsize count);

/// The model that a decoder's boxes are from.
struct Model {
  GQuark name = 0;       // 0 where nobody says
  bool unnamed = false;  // the name is the decoder's own, and only tells models apart
  bool held = false;     // the boxes are an earlier frame's
  friend bool operator==(const Model&, const Model&) = default;
};

/// Adds the records of a decoder's boxes. Nothing else is added to the meta while this lives.
class RecordWriter {
 public:
  /// 0 records add nothing.
  RecordWriter(GstAnalyticsRelationMeta* meta, gsize count, const Model& model);

  /// @pre in ascending order of od_id, as many as announced.
  void add(const BoxRecord& record);

 private:
  guint8* next_ = nullptr;
};

/// A detection as its GstAnalyticsODMtd has it.
struct Detected {
  gint x = 0, y = 0, width = 0, height = 0;
  gfloat angle = 0, score = 0;
  GQuark label = 0;
};

Detected detected(const GstAnalyticsODMtd& od);

/// The records of a relation meta. Valid until mtds are added to it.
class BoxRecords {
 public:
  explicit BoxRecords(GstAnalyticsRelationMeta* meta);

  struct Found {
    BoxRecord record;
    Model model;
  };
  /// The record of a detection, if there is one that agrees with it: the label and the score the
  /// same, and the box within what rounding can have done on its way.
  std::optional<Found> find(guint od_id, const Detected& detection) const;

 private:
  struct Block {  // of one decoder
    RecordBlock records;
    Model model;
    gfloat slack;
  };
  std::vector<Block> blocks_;
};

/// Is it the type of our mtd? By name: the plugin's and libkeepbox's differ in address.
bool is_records(GstAnalyticsMtdType type);

/// Where a detection came to in another meta.
struct Placed {
  guint od_id = G_MAXUINT;  // its id there; G_MAXUINT: it stayed behind
  Box box;
  float angle = 0;
  bool precise = false;  // it has a record that agrees with it
};

/// Copies the records of precise detections to where those came. @param mtd of records.
/// @param placed by the ids in mtd.meta.
void carry_records(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                   std::span<const Placed> placed);

}  // namespace keepbox
