// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads boxes, and draws them best first.
#include "gst/overlay/framepainter.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "gst/metas/labels.h"
#include "gst/overlay/counts.h"

namespace keepbox {

namespace {

/// Returns the lines and zones of a frame. A copy, because the frame may be copied before it is
/// drawn on.
FrameCounts shapes_of(GstBuffer* buffer) {
  const FrameCounts* counts = counts_of(buffer);
  if (counts == nullptr) return {};
  return {.lines = counts->lines, .zones = counts->zones, .notes = {}};
}

}  // namespace

void FramePainter::begin_frame(GstBuffer* buffer, Size frame, const OverlayProps& props,
                               GstClockTime time) {
  props_ = props;
  read_boxes(buffer, boxes_, &keypoints_, frame);
  labels_ = props.draw_attributes ? read_frame_labels(buffer) : BoxLabels{};
  counts_ = props.draw_counts ? shapes_of(buffer) : FrameCounts{};
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
  for (const FrameBox& box : boxes_)
    marks_.push_back(mark_of(box, props_, colors_, trails_, &counts_));
  if (by != 1)
    for (Mark& mark : marks_) enlarge(mark, by, keypoints_);
  std::ranges::stable_sort(marks_, std::greater{}, &Mark::score);
  return painter_.paint(canvas, marks_, pen_of(props_, canvas.size(), by), marks_of(counts_, by));
}

namespace {

std::vector<std::string> caption(const FrameBox& box, const char* label, const OverlayProps& props,
                                 const FrameCounts* counts) {
  std::vector<std::string> texts;
  const auto add = [&texts](std::string_view text) {
    if (!text.empty()) texts.emplace_back(text);
  };
  if (props.draw_labels) add(label);
  if (props.draw_tracking_ids && box.tracking_id) add(std::format("#{}", *box.tracking_id));
  if (counts != nullptr) add(dwell_of(box, *counts));
  if (props.draw_scores && std::isfinite(box.score)) add(std::format("{:.2f}", box.score));
  if (!props.draw_attributes) return texts;
  for (const BoxLabel& each : box.labels)
    if (each.text != label || !props.draw_labels) add(each.text);
  return texts;
}

Box enlarged(const Box& box, float by) {
  return {box.x1 * by, box.y1 * by, box.x2 * by, box.y2 * by};
}

}  // namespace

Mark mark_of(const FrameBox& box, const OverlayProps& props, Colors& colors, const Trails& trails,
             const FrameCounts* counts) {
  const char* quark = g_quark_to_string(box.label);
  const Rgb own = colors.of(box, static_cast<ColorBy>(props.color_by));
  return {.box = box.box,
          .angle = box.angle,
          .score = std::isnan(box.score) ? -std::numeric_limits<float>::infinity() : box.score,
          .color = props.color != 0 ? rgb(props.color) : own,
          .caption = caption(box, quark != nullptr ? quark : "", props, counts),
          .keypoints = props.draw_keypoints ? box.keypoints : FrameKeypoints{},
          .mask = props.draw_masks ? box.mask : FrameMask{},
          .trail = trails.of(box)};
}

Mark mark_of(const BoxLabels& labels, const OverlayProps& props) {
  constexpr Rgb kWhite{255, 255, 255};
  std::vector<std::string> texts;
  for (const BoxLabel& each : labels) texts.emplace_back(each.text);
  return {.box = {0, 0, 1, 1},
          .score = std::numeric_limits<float>::infinity(),
          .color = props.color != 0 ? rgb(props.color) : kWhite,
          .caption = std::move(texts),
          .outlined = false};
}

void enlarge(Mark& mark, float by, KeypointStore& store) {
  mark.box = enlarged(mark.box, by);
  mark.mask.place = enlarged(mark.mask.place, by);
  for (TrailPoint& point : mark.trail) point = {point.x * by, point.y * by};
  if (mark.keypoints.points.empty()) return;
  auto& points =
      store.points.emplace_back(mark.keypoints.points.begin(), mark.keypoints.points.end());
  for (Keypoint& point : points) point.x *= by, point.y *= by;
  mark.keypoints.points = points;
}

Pen pen_of(const OverlayProps& props, Size picture, double by) {
  Pen pen = pen_for(picture);
  if (props.thickness != 0) pen.thickness = std::max(1, cvRound(props.thickness * by));
  if (props.font_scale > 0) pen.font_scale = props.font_scale * by;
  pen.placement = static_cast<LabelPlacement>(props.placement);
  pen.outlines = props.draw_boxes;
  pen.keypoint_threshold = props.keypoint_threshold;
  return pen;
}

}  // namespace keepbox
