// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes of a frame: attached as GStreamer's metas, and read from them.
#pragma once

#include <gst/gst.h>

#include <algorithm>
#include <array>
#include <compare>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/formula/box.h"
#include "core/formula/keypoint.h"
#include "core/formula/letterbox.h"
#include "core/model/contracts.h"

namespace keepbox {

// A box on a video frame, with its keypoints and mask.

/// The mask of a box's object.
struct FrameMask {
  GstBuffer* pixels = nullptr;  // GRAY8 with a GstVideoMeta, not 0 inside the object; borrowed;
                                // nullptr: no mask
  Box place;                    // the area that its pixels cover, in frame pixels
  uint8_t region = 0;           // value of pixels inside the object; 0: unknown
};

/// The keypoints of a box's object.
struct FrameKeypoints {
  std::span<const Keypoint> points{};  // frame pixels, possibly outside of it; borrowed
  std::span<const Edge> edges{};       // lines between them; borrowed
  GQuark name = 0;                     // name of the PointSet; 0 if unknown
};

/// Values of a box's object that do not move with the picture, such as an embedding.
struct FrameValues {
  std::span<const float> values{};  // borrowed
  GQuark kind = 0;                  // name of the PayloadKind
};

/// Result of a classifier or a text recogniser about a box's object.
struct BoxLabel {
  std::string_view text{};             // UTF-8, borrowed: the class's name, or the text
  float level = 0;                     // confidence
  std::optional<uint32_t> class_id{};  // the model's class number; unset for text and for other
                                       // classifiers
  GQuark attribute = 0;                // what it is about, such as "color"; 0 if unknown
  GQuark model = 0;                    // 0 if unknown
};

/// A few results; more are ignored.
class BoxLabels {
 public:
  static constexpr size_t kMax = 6;

  void add(const BoxLabel& label) {
    if (count_ < kMax) labels_[count_++] = label;
  }
  /// Adds a class of an element that names no attribute, unless it is there already.
  void add_class(GQuark name, float level) {
    const gchar* text = g_quark_to_string(name);
    if (text != nullptr && !std::ranges::contains(*this, std::string_view(text), &BoxLabel::text))
      add({.text = text, .level = level});
  }
  size_t size() const { return count_; }
  BoxLabel* begin() { return labels_.data(); }
  BoxLabel* end() { return labels_.data() + count_; }
  const BoxLabel* begin() const { return labels_.data(); }
  const BoxLabel* end() const { return labels_.data() + count_; }
  const BoxLabel& operator[](size_t i) const { return labels_[i]; }

 private:
  std::array<BoxLabel, kMax> labels_{};
  size_t count_ = 0;
};

/// Owns the keypoints of other decoders' boxes, which no meta has as floats.
struct KeypointStore {
  std::deque<std::vector<Keypoint>> points;
  std::deque<std::vector<Edge>> edges;
};

/// A box on a video frame, from any decoder. What trackers and classifiers add to boxes is read,
/// but not written.
struct FrameBox {
  Box box;  // frame pixels; integers if only GstAnalyticsODMtd has the box
  float score = 0;
  float angle = 0;  // radians
  GQuark label = 0;
  std::optional<uint32_t> class_id;  // the model's class number; unset for other decoders
  std::optional<uint32_t> anchor;
  GQuark model = 0;        // name of the box's model; 0 if unknown
  bool unnamed = false;    // `model` is the decoder's own name, only for telling models apart
  bool coco = false;       // the model's classes are COCO's, by their names and numbers
  bool held = false;       // from an earlier frame, on which the model ran
  bool predicted = false;  // where a tracker expects the object; the model did not run
  guint od_id = 0;         // id of its GstAnalyticsODMtd; set by reading
  std::optional<guint> parent{};         // od_id of the box that it is a part of
  std::optional<guint64> tracking_id{};  // from a GstAnalyticsTrackingMtd related to it
  GstClockTime tracked_since = GST_CLOCK_TIME_NONE;
  FrameKeypoints keypoints{};  // attached unchanged; when read, owned by the buffer's metas or a
  FrameMask mask{};            // KeypointStore, and valid as long as these are; likewise for masks
  FrameValues values{};        // and values
  BoxLabels labels{};  // of classifiers; for others than classdecode the first class of each
                       // GstAnalyticsClsMtd related to it
};

// Attaches a decoder's boxes to a frame.

/// Choice of metas that are written in addition to GstAnalyticsODMtd.
struct AttachOptions {
  bool classes = false;  // a GstAnalyticsClsMtd related to each box
  bool regions = false;  // a GstVideoRegionOfInterestMeta with the same id
  Size frame;            // rounded boxes stay inside it; regions are normalised by it
};

/// The maximum number of mtds on a frame to which boxes are added. GStreamer allocates one byte for
/// each pair of mtds, related or not: 100 MB for this number.
inline constexpr gsize kMaxMtds = 10'000;

/// Attaches a decoder's boxes: always a relation meta, sized in advance; a GstAnalyticsODMtd per
/// box, edges rounded to pixels and at least one pixel apart; and the boxes as floats. An oriented
/// box is written as an upright one about the same centre, with its angle. A mask becomes a
/// GstAnalyticsSegmentationMtd related to its box in both directions, with the regions 0 and
/// FrameMask::region, or if unset the mask_region() of its index, and holds a reference to its
/// pixels. Keypoints become floats, and a group of keypoints if GStreamer supports these and they
/// fit in kMaxMtds. A part of another box (FrameBox::parent) is related to it as IS_PART_OF, and
/// back as CONTAIN. Adds to an existing relation meta. kInvalid, with nothing attached, if boxes,
/// classes and masks would make more than kMaxMtds.
/// @param boxes get their od_id; boxes with class and anchor are also written as floats.
Status attach_boxes(GstBuffer* buffer, std::span<FrameBox> boxes, const AttachOptions& options);

/// Returns the number of mtds that attach_boxes() needs for a box.
gsize mtds_of(const FrameBox& box, bool classes);

/// Returns how many mtds attach_boxes() can add to a frame.
gsize room_on(GstBuffer* buffer);

// Reads the boxes of a frame.

/// Reads all boxes of a buffer in the order of their ids, whichever decoder wrote them. Our own
/// floats and keypoints are used if the box's record agrees with its detection. A mask is used if
/// it is GRAY8 and of one object. Boxes completely outside of the frame, as left by a crop, are
/// skipped.
/// @param others gets the keypoints of other decoders' groups; without it they have none.
/// @param frame if empty, the size is taken from the GstVideoMeta, or else is unlimited.
/// @return false if the buffer has no relation meta.
bool read_boxes(GstBuffer* buffer, std::vector<FrameBox>& out, KeypointStore* others = nullptr,
                Size frame = {});

// Boxes below the score threshold, for a tracker: it may show that one is an object it follows.
//
// They are records without a GstAnalyticsODMtd in the frame's relation meta. Nothing that reads
// detections can see them, whichever project wrote it, and yet they are scaled, copied and dropped
// with the boxes. A tracker attaches those that it matches as boxes like others.

/// Attaches weak boxes, decoder by decoder, with keypoints and values, without masks.
/// @param boxes get their od_id, which is no id of a detection. @pre the buffer has a relation
/// meta; boxes have a class and an anchor.
void attach_weak_boxes(GstBuffer* buffer, std::span<FrameBox> boxes);

/// Returns the weak boxes of a buffer, decoder by decoder. Keypoints
/// and values are valid until mtds are added to the buffer's relation meta.
std::vector<FrameBox> read_weak_boxes(GstBuffer* buffer);

// The identity of a tracked object.

/// An object of a stream. Trackers of different models may give the same ids.
struct ObjectKey {
  GQuark model = 0;  // FrameBox::model, also if it is only the decoder's own name
  guint64 id = 0;    // of its tracker
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};

/// Returns the object of a box that has a tracking id.
inline std::optional<ObjectKey> key_of(const FrameBox& box) {
  if (!box.tracking_id) return std::nullopt;
  return ObjectKey{box.model, *box.tracking_id};
}

}  // namespace keepbox
