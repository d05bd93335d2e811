// SPDX-License-Identifier: LGPL-2.1-or-later
// A box on a video frame, with its keypoints and mask.
#pragma once

#include <gst/gst.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/formula/box.h"
#include "core/formula/keypoint.h"
#include "core/model/contracts.h"

namespace keepbox {

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

}  // namespace keepbox
