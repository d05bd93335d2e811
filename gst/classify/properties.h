// SPDX-License-Identifier: LGPL-2.1-or-later
// Properties and statistics of classdecode.
#pragma once

#include <gst/gst.h>

#include <string>

#include "gst/base/props.h"

namespace keepbox {

// The properties of classdecode.

/// Treatment of a tracked object's results on frames without new ones.
enum class KeepResults {
  kNone,  // they end with their frame
  kLast,  // the last ones stay
  kBest,  // those with the highest confidence so far stay
};

/// Property values as set. Plain data: copied under the object lock.
struct ClassifyProps {
  int activation = -1;  // Activation; -1: recognised
  guint top_k = 1;
  gfloat score_threshold = 0;
  std::string label_file, attribute, model_name;
  int keep = static_cast<int>(KeepResults::kLast);

  bool operator==(const ClassifyProps&) const = default;
};

const PropertyTable<ClassifyProps>& classify_properties();

// The counters behind classdecode's `stats` property.

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
