// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads boxes, and draws them best first.
#include "gst/overlay/framepainter.h"

#include <algorithm>
#include <functional>

#include "gst/metas/framelabels.h"

namespace keepbox {

void FramePainter::begin_frame(GstBuffer* buffer, Size frame, const OverlayProps& props,
                               GstClockTime time) {
  props_ = props;
  read_boxes(buffer, boxes_, &keypoints_, frame);
  labels_ = props.draw_attributes ? read_frame_labels(buffer) : BoxLabels{};
  const auto length = static_cast<GstClockTime>(props.draw_trails * GST_SECOND);
  if (length == 0) trails_.clear();
  else trails_.add(boxes_, time, length);
  privacy_.choose({boxes_, SkippedModels(buffer), frame, time}, props, obscured_);
}

Status FramePainter::obscure(Canvas& canvas) {
  if (!obscures()) return {};
  const ObscuringSize size{.strength = props_.blur_strength, .margin = props_.blur_margin};
  return keepbox::obscure(canvas, obscured_, size, scratch_);
}

Status FramePainter::paint(Canvas& canvas, float by) {
  marks_.clear();
  if (labels_.size() != 0) marks_.push_back(mark_of(labels_, props_));
  for (const FrameBox& box : boxes_) marks_.push_back(mark_of(box, props_, colors_, trails_));
  if (by != 1)
    for (Mark& mark : marks_) enlarge(mark, by, keypoints_);
  std::ranges::stable_sort(marks_, std::greater{}, &Mark::score);
  return painter_.paint(canvas, marks_, pen_of(props_, canvas.size(), by));
}

}  // namespace keepbox
