// SPDX-License-Identifier: LGPL-2.1-or-later
// The counters behind classdecode's `stats` property.
#pragma once

#include <gst/gst.h>

#include <string>

namespace keepbox {

/// Counts of a frame.
struct ClassifyCounts {
  guint64 images = 0;   // of objects, or the frame's own
  guint64 results = 0;  // of the model
  guint64 kept = 0;     // of objects whose model did not run
};

/// Counts since the start. Plain data, guarded by its owner.
class ClassifyStats {
 public:
  /// @param recognised how the tensors are read, as Classifier::remark().
  void add(const ClassifyCounts& counts, GstClockTime time, const std::string& recognised);

  /// Returns the structure "classdecode-stats". Transfer full.
  GstStructure* structure() const;

 private:
  guint64 frames_ = 0;
  ClassifyCounts sum_;
  GstClockTime time_ = 0;
  std::string recognised_;
};

}  // namespace keepbox
