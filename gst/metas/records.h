// SPDX-License-Identifier: LGPL-2.1-or-later
// Records in a relation meta: what GStreamer's own metas of boxes lack.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/formula/box.h"
#include "core/formula/input.h"
#include "core/formula/keypoint.h"
#include "gst/metas/boxes.h"
#include "gst/metas/pixelmap.h"

namespace keepbox {

// Mtds of our own types: a header, followed by records, each of which begins with an od_id.
//
// The relation meta copies, transforms and drops them with the detections. Their layout is in the
// data itself, so that the plugin and an application's libkeepbox may have different versions. New
// members of headers and records are appended. A type is a row of the table in records.cpp.

/// The types, in the order of the table.
enum class RecordKind : guint8 {
  kBoxes,      // boxes as floats; those of a decoder are one mtd
  kWeakBoxes,  // boxes below the score threshold, which have no detection
  kLabels,     // results about objects or the frame; those of one attribute of a model are one mtd
  kMasks,      // the areas of masks as floats
  kPoints,     // keypoints as floats; those of a decoder with the same name are one mtd
  kValues,     // values that do not move with the picture, likewise
  kPictures,   // which image of a producer's tensors shows which object
  kSkipped,    // a model that did not look at the frame; without records
};
inline constexpr size_t kRecordKinds = 8;

struct RecordType;

/// An mtd of ours; valid until mtds are added to its meta.
struct RecordBlock {
  const RecordType* type = nullptr;
  guint8* header = nullptr;
  guint header_size = 0, record_size = 0, count = 0;  // sizes in bytes; number of records

  guint8* record(guint i) const { return header + header_size + gsize{i} * record_size; }
  /// Returns the record of an object, or nullptr. @pre they are in ascending order of od_id.
  const guint8* find(guint od_id) const;
};

/// True for the types of our records.
bool is_record(GstAnalyticsMtdType type);

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

/// Copies the records of carried objects, and of what is no detection, to a frame with the same
/// picture. Those of masks are left out, because they follow their pixels.
/// @param mtd of such records. @param placed indexed by the ids in mtd.meta.
void carry_records(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                   std::span<const Placed> placed, const PixelMap& map);

/// A box as it was decoded, in pixels of the video frame; the right and bottom edges are exclusive.
struct BoxRecord {
  guint od_id = 0;     // the GstAnalyticsODMtd with the rounded box
  guint class_id = 0;  // the model's class number
  guint anchor = 0;    // row or cell of the tensor
  GQuark label = 0;
  gfloat score = 0;
  gfloat x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  gfloat angle = 0;  // radians, clockwise; 0 for upright boxes

  OrientedBox place() const { return {{x1, y1, x2, y2}, angle}; }
};

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
BoxModel model_of(const FrameBox& box);

struct RecordedBox {
  BoxRecord record;
  BoxModel model;
};

/// A detection as in its GstAnalyticsODMtd.
struct Detected {
  gint x = 0, y = 0, width = 0, height = 0;
  gfloat angle = 0, score = 0;
  GQuark label = 0;
};
Detected detected(const GstAnalyticsODMtd& od);

/// Returns the number that stands for an od_id in records of weak boxes and their payloads.
constexpr guint weak_id(gsize index) { return 0x80000000u | static_cast<guint>(index); }

/// Adds the records of boxes with class and anchor, and of their keypoints and values, model by
/// model. Those with a weak_id() are weak. @pre od_id is set and ascending.
void add_records(GstAnalyticsRelationMeta* meta, std::span<const FrameBox> boxes);

/// Returns about as many bytes as the records of the boxes and their masks need in a relation meta.
gsize bytes_of_records(std::span<const FrameBox> boxes);

/// The area of one box's mask.
struct MaskRecord {
  guint od_id = 0;                        // the box
  guint seg_id = 0;                       // the GstAnalyticsSegmentationMtd with its mask
  gfloat x1 = 0, y1 = 0, x2 = 0, y2 = 0;  // the area of the mask in frame pixels

  Box place() const { return {x1, y1, x2, y2}; }
};

/// Adds records. @pre in ascending order of od_id. An empty list adds nothing.
void add_masks(GstAnalyticsRelationMeta* meta, std::span<const MaskRecord> records);

/// The od_id of results about the whole frame.
inline constexpr guint kWholeFrame = G_MAXUINT;
inline constexpr gsize kMaxLabelText = 120;

/// A result of a classifier or text recogniser about one object.
struct ObjectLabel {
  guint od_id = 0;     // or kWholeFrame
  guint class_id = 0;  // the model's class number; G_MAXUINT for text
  GQuark name = 0;     // of the class; 0 for text
  float level = 0;     // confidence
  std::string text{};  // UTF-8, of a text recogniser, at most kMaxLabelText bytes
};

/// The model and attribute that results are about; 0 if unknown.
struct LabelSubject {
  GQuark model = 0, attribute = 0;
};

/// Adds results. @pre in ascending order of od_id, one per object. An empty list adds nothing.
void add_labels(GstAnalyticsRelationMeta* meta, const LabelSubject& about,
                std::span<const ObjectLabel> labels);

/// Adds a note that a model did not look at the frame.
void add_skipped(GstAnalyticsRelationMeta* meta, GQuark model);

/// The image of an object in the tensors of a producer.
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

/// The records of a relation meta. Valid until mtds are added to it, as is what is read.
class Records {
 public:
  /// @param meta may be nullptr.
  explicit Records(GstAnalyticsRelationMeta* meta);

  /// Returns the record of a detection, if there is one that agrees with it: same label and score,
  /// and the box within the rounding that may have occurred since.
  std::optional<RecordedBox> box(guint od_id, const Detected& detection) const;
  std::vector<RecordedBox> weak_boxes() const;

  /// Return the payload of a box, or nothing. Valid if its record agrees.
  FrameKeypoints keypoints(guint od_id) const;
  FrameValues values(guint od_id) const;

  /// Returns the record of a mask that our decoder wrote. Valid if the box's own record agrees.
  std::optional<MaskRecord> mask(guint seg_id) const;

  /// Adds the results about an object, or about kWholeFrame.
  void read_labels(guint od_id, BoxLabels& out) const;
  /// Returns the records of a producer whose objects are still on the frame.
  std::vector<PictureRecord> pictures(guint64 producer) const;
  /// Returns the models that did not look at the frame, each once.
  std::vector<GQuark> skipped() const;

 private:
  std::span<const RecordBlock> of(RecordKind kind) const {
    return blocks_[static_cast<size_t>(kind)];
  }

  GstAnalyticsRelationMeta* meta_;
  std::array<std::vector<RecordBlock>, kRecordKinds> blocks_;
};

}  // namespace keepbox
