// SPDX-License-Identifier: LGPL-2.1-or-later
// Records in a relation meta: what GStreamer's own metas of boxes lack.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/formula/box.h"
#include "core/formula/input.h"
#include "core/formula/keypoint.h"
#include "gst/metas/boxes.h"
#include "gst/metas/pixelmap.h"

namespace keepbox {

// Mtds of our own types: a header, followed by one record per box.
//
// The relation meta copies, transforms and drops them with the detections. Their
// layout is in the data itself, so that the plugin and an application's libkeepbox may have
// different versions.

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

// Boxes as floats, in the same meta as their GstAnalyticsODMtd with integers. The boxes of a
// decoder are one mtd.

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
  /// Creates no mtd for 0 records. @param weak see metas/boxes.h.
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

// Results of classifiers and text recognisers about the objects of a frame, or about the frame.
// The labels of one attribute of one model are one mtd, which follows the objects with their frame.

/// The od_id of results about the whole frame.
inline constexpr guint kWholeFrame = G_MAXUINT;

/// A result about one object.
struct ObjectLabel {
  guint od_id = 0;     // or kWholeFrame
  guint class_id = 0;  // the model's class number; G_MAXUINT for text
  GQuark name = 0;     // of the class; 0 for text
  float level = 0;     // confidence
  std::string text{};  // UTF-8, of a text recogniser, at most kMaxLabelText bytes
};

inline constexpr gsize kMaxLabelText = 120;

/// The model and attribute that results are about; 0 if unknown.
struct LabelSubject {
  GQuark model = 0, attribute = 0;
};

/// Adds results. @pre in ascending order of od_id, one per object. An empty list adds nothing.
void add_labels(GstAnalyticsRelationMeta* meta, const LabelSubject& about,
                std::span<const ObjectLabel> labels);

/// The results of a relation meta. Valid until mtds are added to it.
class LabelRecords {
 public:
  explicit LabelRecords(GstAnalyticsRelationMeta* meta);

  bool any() const { return !blocks_.empty(); }
  /// Adds the results about an object, or about kWholeFrame. Their texts are valid until mtds are
  /// added.
  void find(guint od_id, BoxLabels& out) const;

 private:
  struct Block {
    RecordBlock records;
    LabelSubject about;
  };
  std::vector<Block> blocks_;
};

bool is_labels(GstAnalyticsMtdType type);

/// Copies the results about carried objects, and about the frame. @param mtd of such results.
/// @param placed indexed by the ids in mtd.meta.
void carry_labels(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                  std::span<const Placed> placed);

// The areas of masks as floats, in the same meta as their GstAnalyticsSegmentationMtd with
// integers.

/// The area of one box's mask. New members are appended.
struct MaskRecord {
  guint od_id = 0;                        // the box
  guint seg_id = 0;                       // the GstAnalyticsSegmentationMtd with its mask
  gfloat x1 = 0, y1 = 0, x2 = 0, y2 = 0;  // the area of the mask in frame pixels

  Box place() const { return {x1, y1, x2, y2}; }
};

/// Returns the bytes that records of that many masks need in a relation meta.
gsize bytes_of_masks(gsize count);

/// Adds records. @pre in ascending order of od_id. An empty list adds nothing.
void add_masks(GstAnalyticsRelationMeta* meta, std::span<const MaskRecord> records);

/// The records of a relation meta. Valid until mtds are added to it.
class MaskRecords {
 public:
  explicit MaskRecords(GstAnalyticsRelationMeta* meta);

  /// Returns the area of a detection's mask, if our decoder wrote both. Valid if the detection's
  /// own record agrees.
  std::optional<Box> find(guint od_id, guint seg_id) const;
  /// Returns the same if only the mask is known.
  std::optional<MaskRecord> of_mask(guint seg_id) const;

 private:
  std::vector<RecordBlock> blocks_;
};

bool is_masks(GstAnalyticsMtdType type);

// Payloads of boxes as floats, in the same meta as the float boxes: keypoints, and values that do
// not move with the picture. Payloads of a decoder with the same name are one mtd.

/// Returns slightly more than the bytes that the boxes' payloads need in a relation meta.
gsize bytes_of_payloads(std::span<const FrameBox> boxes);

/// Adds the payloads of boxes with class and anchor. @pre od_id is set and ascending.
void add_payloads(GstAnalyticsRelationMeta* meta, std::span<const FrameBox> boxes);

/// The payloads of a relation meta. Valid until mtds are added to it.
class PayloadRecords {
 public:
  explicit PayloadRecords(GstAnalyticsRelationMeta* meta);

  /// Return the payload of a detection, or nothing. Valid if its record agrees.
  FrameKeypoints keypoints(guint od_id) const;
  FrameValues values(guint od_id) const;

 private:
  struct Block {
    Moves moves;
    RecordBlock records;
    GQuark name;
    guint count;  // floats per box
    std::span<const Edge> edges;
  };
  struct Found {
    const Block* block = nullptr;  // nullptr: none
    std::span<const float> floats{};
  };
  Found find(Moves moves, guint od_id) const;

  std::vector<Block> blocks_;
};

bool is_payload(GstAnalyticsMtdType type);

/// Copies the payloads of precise detections to their new positions. Keypoints are mapped but not
/// clipped. @param mtd of a payload. @param placed indexed by the ids in mtd.meta.
void carry_payload(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                   std::span<const Placed> placed, const PixelMap& map);

// Relates images of a producer's tensors to objects of a frame. The records of a producer are
// one mtd, which follows the objects wherever their frame goes.

/// The image of an object. New members are appended.
struct PictureRecord {
  static constexpr guint kLeftOut = G_MAXUINT;

  guint od_id = 0;                      // the object
  guint image = 0;                      // index in the tensors' first dimension; kLeftOut: the
                                        // model did not run on the object, but does on others
  CropPoint origin{}, right{}, down{};  // frame positions of the image's corners: top left, top
                                        // right, bottom left
};

/// Adds the records of a producer. @param producer TensorProvenance::producer.
/// @pre in ascending order of od_id. An empty list adds nothing.
void add_pictures(GstAnalyticsRelationMeta* meta, guint64 producer,
                  std::span<const PictureRecord> records);

/// Adds a record without an image for each object on which the producer did not run, although it
/// is one of those that it runs on. @pre in ascending order of od_id.
void add_left_out(GstBuffer* frame, guint64 producer, std::span<const guint> objects);

/// Returns the records of a producer whose objects are still on the frame, by od_id, without
/// objects that were left out.
std::vector<PictureRecord> read_pictures(GstBuffer* frame, guint64 producer);

/// Returns the objects of the frame that a producer left out.
std::vector<guint> read_left_out(GstBuffer* frame, guint64 producer);

bool is_pictures(GstAnalyticsMtdType type);

/// Copies the records of carried objects. @param mtd of such records. @param placed indexed by the
/// ids in mtd.meta.
void carry_pictures(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                    std::span<const Placed> placed, const PixelMap& map);

}  // namespace keepbox
