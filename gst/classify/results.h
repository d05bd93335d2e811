// SPDX-License-Identifier: LGPL-2.1-or-later
// Results of a classifier: attached to objects, and kept for frames without a run.
#pragma once

#include <gst/gst.h>

#include <map>
#include <span>
#include <vector>

#include "gst/classify/classifier.h"
#include "gst/classify/properties.h"
#include "gst/metas/boxes.h"
#include "gst/metas/records.h"

namespace keepbox {

// Results of tracked objects, kept for frames on which their model did not run on them.

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

// Attaches the results of classifiers and text recognisers to frames.

/// Attaches results about objects, with those of earlier frames. For one thread.
class ObjectResultWriter {
 public:
  /// Attaches results, and the kept ones of objects that were not run. Frames without a relation
  /// meta have no objects.
  /// @param tensors results of the frame, which are moved from.
  /// @param pictures objects that the tensors are about.
  /// @param frame size of the frame.
  void attach(GstBuffer* buffer, std::vector<TensorResults>& tensors,
              std::span<const PictureRecord> pictures, KeepResults keep, Size frame,
              ClassifyCounts& counts);
  /// Gives the results of earlier frames other names of attributes and models.
  void rename(std::span<const RenamedSubject> subjects);
  /// Forgets results and models of earlier frames.
  void forget();

 private:
  struct OfFrame;
  OfFrame by_object(std::vector<TensorResults>& tensors, std::span<const PictureRecord> pictures);

  KeptResults kept_;
  std::map<GQuark, GQuark> models_;  // of kept results, by attribute
};

/// Attaches classes and texts of whole frames. Of the tiles of a frame, the one with the highest
/// confidence counts; classifications are attached of all.
void attach_to_frame(GstBuffer* buffer, std::vector<TensorResults>& tensors,
                     ClassifyCounts& counts);

}  // namespace keepbox
