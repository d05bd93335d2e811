// SPDX-License-Identifier: LGPL-2.1-or-later
// The objects of frames as a counter takes them, and its counts as frames have them.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/count/counter.h"
#include "gst/count/properties.h"
#include "gst/metas/boxes.h"
#include "gst/metas/counts.h"
#include "gst/metas/skippedmodels.h"

namespace keepbox {

/// Reads the boxes of a stream that count: those with an id, of the classes and the model that the
/// properties name, where their model found them. Held and predicted ones are not where they are.
class CountedBoxes {
 public:
  /// Takes properties.
  void set(const CountProps& props);
  /// Forgets earlier frames.
  void restart();

  /// Reads the boxes of a frame. @param time of the frame in ns. @return it for the counter, valid
  /// until the next call.
  CountFrame read(GstBuffer* buffer, Size size, int64_t time);

  /// Returns what the events of a counter of these boxes tell.
  std::vector<CountNote> notes(const std::vector<CountEvent>& events) const;

  /// Returns a warning about boxes without ids, once: after some frames, or at the end.
  std::optional<Error> missing_ids_warning(bool end);
  /// Returns a warning about classes that no box had.
  std::optional<Error> missing_classes_warning() const;

 private:
  bool counts(const FrameBox& box);

  PlaceOfBox point_ = PlaceOfBox::kBottom;
  std::string model_;
  std::vector<std::string> kept_, dropped_;  // classes
  std::map<GQuark, bool> choice_;            // of classes that were seen

  ModelLooks looks_;
  std::set<GQuark> unnamed_;  // models with a decoder's own name
  std::vector<FrameBox> boxes_;
  std::vector<CountPoint> points_;
  std::vector<uint64_t> skipped_;
  guint64 frames_without_ids_ = 0;
  bool has_ids_ = false, warned_ = false;
};

/// Returns the counts after a frame. @param time its running time in ns.
FrameCounts frame_counts(const Counter& counter, GstClockTime time);

/// Returns the element message of a note, such as "boxcount-crossed". @param running,stream times
/// of the frame; GST_CLOCK_TIME_NONE if unknown. Transfer full.
GstStructure* message_of(const CountNote& note, GstClockTime running, GstClockTime stream);

}  // namespace keepbox
