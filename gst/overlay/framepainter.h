// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws on the frames of a stream: their boxes, and over the objects to obscure.
#pragma once

#include <gst/gst.h>

#include <vector>

#include "core/base/result.h"
#include "core/formula/letterbox.h"
#include "gst/metas/boxes.h"
#include "gst/metas/counts.h"
#include "gst/overlay/canvas.h"
#include "gst/overlay/colors.h"
#include "gst/overlay/obscure.h"
#include "gst/overlay/overlayprops.h"
#include "gst/overlay/paint.h"
#include "gst/overlay/privacy.h"

namespace keepbox {

// Marks of boxes: colour, caption and parts to draw.

/// Returns the mark of a box, with its colour, its caption and the parts that are to be drawn. The
/// box's points, mask and trail are borrowed. @param counts of the frame; nullptr: none are drawn.
Mark mark_of(const FrameBox& box, const OverlayProps& props, Colors& colors, const Trails& trails,
             const FrameCounts* counts = nullptr);

/// Returns the mark of the results about the whole frame: a caption in its upper left corner.
/// @param labels at least one.
Mark mark_of(const BoxLabels& labels, const OverlayProps& props);

/// Enlarges a mark for a picture of another size. @param store keeps its points.
void enlarge(Mark& mark, float by, KeypointStore& store);

/// Returns the pen of these properties. @param by enlargement of the picture, whose size is
/// `picture`.
Pen pen_of(const OverlayProps& props, Size picture, double by = 1);

class FramePainter {
 public:
  /// Takes the properties and reads the boxes and results of a frame, which outlives their drawing.
  /// @param time stream time, which repeats what a seek repeats.
  void begin_frame(GstBuffer* buffer, Size frame, const OverlayProps& props, GstClockTime time);
  /// Draws nothing on the frame, as on one without a picture.
  void skip() { boxes_.clear(), obscured_.clear(), labels_ = {}, counts_ = {}; }

  bool draws() const { return !boxes_.empty() || labels_.size() != 0 || !counts_.empty(); }
  bool obscures() const { return !obscured_.empty(); }
  bool is_idle() const { return !draws() && !obscures(); }

  /// Makes objects unrecognisable. After an error the frame must not be shown.
  Status obscure(Canvas& canvas);
  /// Draws the boxes, and the results about the frame. @param by enlargement of the frame on the
  /// canvas.
  Status paint(Canvas& canvas, float by = 1);

  size_t boxes() const { return boxes_.size(); }
  /// Number of labels of the last frame without a place.
  size_t left_out() const { return painter_.left_out(); }
  Privacy& privacy() { return privacy_; }

 private:
  OverlayProps props_;
  std::vector<FrameBox> boxes_;
  KeypointStore keypoints_;
  BoxLabels labels_;    // of the frame
  FrameCounts counts_;  // likewise, without notes
  std::vector<Mark> marks_;
  Trails trails_;
  Colors colors_;
  Painter painter_;
  Privacy privacy_;
  std::vector<ObscuredBox> obscured_;
  PaintScratch scratch_;
};

}  // namespace keepbox
