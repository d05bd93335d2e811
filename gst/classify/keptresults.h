// SPDX-License-Identifier: LGPL-2.1-or-later
// Results of tracked objects, kept for frames on which their model did not run on them.
#pragma once

#include <gst/gst.h>

#include <map>
#include <span>
#include <vector>

#include "gst/classify/classifyprops.h"
#include "gst/metas/framebox.h"
#include "gst/metas/objectkey.h"
#include "gst/metas/records/labelrecords.h"

namespace keepbox {

/// Keeps the results of tracked objects. Not thread-safe.
class KeptResults {
 public:
  /// Results by attribute, each in ascending order of od_id.
  using OfFrame = std::map<GQuark, std::vector<ObjectLabel>>;

  /// Remembers the results of a frame's tracked objects, and adds to them, or replaces them by, the
  /// kept ones. @param boxes all of the frame.
  void complete(std::span<const FrameBox> boxes, KeepResults keep, OfFrame& results);

  /// Gives kept results other attributes. Those that have none in the map keep theirs.
  void rename(const std::map<GQuark, GQuark>& attributes);
  void forget() { tracks_.clear(); }

 private:
  struct Track {
    std::map<GQuark, ObjectLabel> labels;  // by attribute
    guint64 seen = 0;                      // number of the last frame
  };
  void prune();

  std::map<ObjectKey, Track> tracks_;
  guint64 frame_ = 0;
};

}  // namespace keepbox
