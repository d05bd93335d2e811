// SPDX-License-Identifier: LGPL-2.1-or-later
// Attaches the results of classifiers and text recognisers to frames.
#pragma once

#include <gst/gst.h>

#include <map>
#include <span>
#include <vector>

#include "gst/classify/classifier.h"
#include "gst/classify/classifystats.h"
#include "gst/classify/keptresults.h"
#include "gst/metas/records/picturerecords.h"

namespace keepbox {

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
