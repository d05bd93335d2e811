// SPDX-License-Identifier: LGPL-2.1-or-later
// The models that did not look at a frame. That a frame has no boxes of such a model does not mean
// that there are no objects.
//
// The notes are records in the frame's relation meta, so that they are copied, carried and sent to
// other processes with the boxes.
#pragma once

#include <gst/gst.h>

#include <set>
#include <span>
#include <vector>

#include "gst/metas/boxes.h"
#include "gst/tensors/provenance.h"

namespace keepbox {

/// Notes as note_skipped() does that an inference element skipped a frame, also for other
/// processes.
/// @param buffer writable. @param source of its tensors; nullptr if unknown.
void note_skipped_frame(GstBuffer* buffer, SharedProvenance source = nullptr);
/// Notes that a model did not look at a frame, because the inference element skipped it or because
/// its tensors could not be decoded.
/// @param buffer writable. @param model its name, as in FrameBox::model or BoxLabel::model.
void note_skipped_model(GstBuffer* buffer, GQuark model);
/// The models that did not look at a frame: those noted by their decoders or, if no decoder
/// looked either, all models if an inference element skipped the frame. A frame without notes was
/// looked at, as one whose boxes an application attached.
class SkippedModels {
 public:
  SkippedModels() = default;
  explicit SkippedModels(GstBuffer* buffer);

  /// True if any model did not look at the frame.
  bool any() const { return all_ || !models_.empty(); }
  /// True if that model did not look at the frame.
  bool has(GQuark model) const;
  /// True if an inference element skipped the frame and no decoder looked at it.
  bool all() const { return all_; }
  /// Returns the models that were noted, each once.
  std::span<const GQuark> noted() const { return models_; }

  /// Adds a model to those that were noted, unless it is one.
  void add(GQuark model);

 private:
  std::vector<GQuark> models_;
  bool all_ = false;
};

/// Follows which models look at the frames of a stream, although their names may change. A name
/// that is noted for the first time may be that of a model which had another one until the frame
/// before; it is not known until that model has looked.
class ModelLooks {
 public:
  /// Takes the next frame. @param boxes of the frame.
  /// @return the models that may not have looked at it: those that were noted, and those that may
  /// have another name by now.
  SkippedModels take(SkippedModels skipped, std::span<const FrameBox> boxes);

  /// True if a model skipped that frame which has not looked at any frame yet.
  bool unknown() const { return unknown_; }

 private:
  std::set<GQuark> known_;   // names that were noted or found boxes
  std::set<GQuark> there_;   // of these, on the last frame
  std::set<GQuark> new_;     // names that were noted on each frame since they appeared
  std::set<GQuark> gone_;    // names that new ones may have replaced
  std::set<GQuark> unseen_;  // names that were noted on each frame since the first one
  bool began_ = false;       // a frame was there on which decoders noted what they skipped
  bool unknown_ = false;
};

}  // namespace keepbox
