// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes as floats, in the same meta as their GstAnalyticsODMtd with integers. The boxes of a
// decoder are one mtd.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include <optional>
#include <span>
#include <vector>

#include "core/formula/box.h"
#include "gst/metas/framebox.h"
#include "gst/metas/records/recordblock.h"

namespace keepbox {

/// A box as it was decoded, in pixels of the video frame; the right and bottom edges are exclusive.
/// New members are appended.
struct BoxRecord {
  guint od_id = 0;     // the GstAnalyticsODMtd with the rounded box
  guint class_id = 0;  // the model's class number
  guint anchor = 0;    // row or cell of the tensor
  GQuark label = 0;
  gfloat score = 0;
  gfloat x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  gfloat angle = 0;  // radians, clockwise; 0 for upright boxes
};

/// Returns the bytes that records of that many boxes need in a relation meta.
gsize bytes_of_records(gsize count);

/// The model of a decoder's boxes.
struct BoxModel {
  GQuark name = 0;         // 0 if unknown
  bool unnamed = false;    // the decoder's own name, only for telling models apart
  bool held = false;       // the boxes are from an earlier frame
  bool predicted = false;  // the boxes are where a tracker expects them
  bool parts = false;      // the boxes are parts of other boxes, to which they are related
  bool coco = false;       // its classes are COCO's
  friend bool operator==(const BoxModel&, const BoxModel&) = default;
};

/// Returns what records have of a box. @pre record_of(): it has a class and an anchor.
BoxModel model_of(const FrameBox& box);
BoxRecord record_of(const FrameBox& box);

/// Adds the records of a decoder's boxes. Nothing else may be added to the meta during its
/// lifetime.
class RecordWriter {
 public:
  /// Creates no mtd for 0 records. @param weak see weakboxes.h.
  RecordWriter(GstAnalyticsRelationMeta* meta, gsize count, const BoxModel& model,
               bool weak = false);

  /// @pre in ascending order of od_id, exactly `count` records.
  void add(const BoxRecord& record);

 private:
  guint8* next_ = nullptr;
};

/// A detection as in its GstAnalyticsODMtd.
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
    BoxModel model;
  };
  /// Returns the record of a detection, if there is one that agrees with it: same label and score,
  /// and the box within the rounding that may have occurred since.
  std::optional<Found> find(guint od_id, const Detected& detection) const;

 private:
  struct Block {  // records of one decoder
    RecordBlock records;
    BoxModel model;
    gfloat tolerance;
  };
  std::vector<Block> blocks_;
};

/// True if it is the type of our mtd, or that of weak boxes. Compared by name, because plugin and
/// libkeepbox have different addresses.
bool is_records(GstAnalyticsMtdType type);

/// A record of a weak box, which has no detection.
struct WeakRecord {
  BoxRecord record;  // od_id is weak_id() of its index
  BoxModel model;
};
std::vector<WeakRecord> weak_records(GstAnalyticsRelationMeta* meta);

/// Returns the number that stands for an od_id in records of weak boxes and their payloads.
constexpr guint weak_id(gsize index) { return 0x80000000u | static_cast<guint>(index); }
constexpr bool is_weak(guint od_id) { return (od_id & 0x80000000u) != 0; }

/// The position of a detection in another meta.
struct Placed {
  guint od_id = G_MAXUINT;  // its id there; G_MAXUINT: not carried
  Box box;
  float angle = 0;
  bool precise = false;  // has a record that agrees with it
};

/// True if a detection was carried. @param placed indexed by the ids in its old meta.
inline bool is_carried(std::span<const Placed> placed, guint od_id) {
  return od_id < placed.size() && placed[od_id].od_id != G_MAXUINT;
}

/// Copies the records of precise detections to their new positions, and those of weak boxes mapped.
/// @param mtd of records. @param placed indexed by the ids in mtd.meta.
void carry_records(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                   std::span<const Placed> placed, const PixelMap& map);

}  // namespace keepbox
