// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes and labels of frames as text, to compare frames.
#include "tests/gst/metas/frametext.h"

#include <format>
#include <vector>

#include "gst/metas/boxes.h"
#include "gst/metas/labels.h"
#include "tests/gst/metas/parts.h"

namespace keepbox::test {
namespace {

std::string text_of(const BoxLabel& label) {
  return std::format(" [{} {} {} {} {}]", label.text, label.level, label.class_id.value_or(9999),
                     label.attribute, label.model);
}

std::string text_of(const FrameBox& b) {
  std::string out = std::format(
      "{} {} {} {} s{} a{} {} class{} anchor{} {} {}{}{}{} parent{} track{} since{}", b.box.x1,
      b.box.y1, b.box.x2, b.box.y2, b.score, b.angle, b.label, b.class_id.value_or(9999),
      b.anchor.value_or(9999), b.model, b.unnamed, b.coco, b.held, b.predicted,
      b.parent.value_or(9999), b.tracking_id.value_or(0), b.tracked_since);
  for (const Keypoint& p : b.keypoints.points) out += std::format(" ({},{},{})", p.x, p.y, p.score);
  for (const Edge& e : b.keypoints.edges) out += std::format(" {}-{}", e.from, e.to);
  for (const float v : b.values.values) out += std::format(" v{}", v);
  out += std::format(" {} {}", b.keypoints.name, b.values.kind);
  for (const BoxLabel& l : b.labels) out += text_of(l);
  const Box& p = b.mask.place;
  for (const int pixel : pixels_of(b.mask.pixels)) out += pixel != 0 ? '#' : '.';
  return out + std::format(" in {} {} {} {}", p.x1, p.y1, p.x2, p.y2);
}

std::string text_of(const std::vector<Corner>& corners) {
  std::string out;
  for (const auto [x, y] : corners) out += std::format(" ({},{})", x, y);
  return out;
}

}  // namespace

std::string counts_text(const FrameCounts& counts) {
  std::string out;
  for (const LineCount& l : counts.lines)
    out += std::format("line {}{} {} {} {}/{} ?{}/{}\n", l.name,
                       text_of({l.points[0], l.points[1]}), l.directions[0], l.directions[1],
                       l.crossed[0], l.crossed[1], l.uncertain[0], l.uncertain[1]);
  for (const ZoneCount& z : counts.zones) {
    out += std::format("zone {}{} {} {} {} {}\n", z.name, text_of(z.corners), z.visits, z.mean,
                       z.longest, z.crowded);
    for (const PresentObject& p : z.present)
      out += std::format("  {} {} {} {} {} {}\n", p.object.model, p.object.id, p.label, p.since,
                         p.dwell, p.alarmed);
  }
  for (const CountNote& n : counts.notes)
    out += std::format("{} {} {} {} {} {} {} {} {} {}\n", word_of(n.kind), n.name, n.direction,
                       n.object.model, n.object.id, n.unnamed, n.label, n.ago, n.dwell, n.now);
  return out;
}

std::string text_of(GstBuffer* buffer) {
  std::vector<FrameBox> boxes;
  KeypointStore points;
  std::string out = read_boxes(buffer, boxes, &points) ? "boxes\n" : "none\n";
  for (const FrameBox& box : boxes) out += text_of(box) + '\n';
  for (const FrameBox& box : read_weak_boxes(buffer)) out += "weak " + text_of(box) + '\n';
  if (const FrameCounts* counts = counts_of(buffer)) out += counts_text(*counts);
  auto* meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (meta == nullptr) return out;
  for (const BoxLabel& label : read_frame_labels(buffer)) out += text_of(label);
  for (const BoxClasses& classes : classes_of_frame(meta))
    out += std::format("frame {} {}\n", classes.names[0], classes.levels[0]);
  for (const FrameBox& box : boxes) {
    if (const auto track = track_of(meta, box.od_id))
      out += std::format("{} {} {}\n", track->first_seen, track->last_seen, track->lost);
    for (const BoxClasses& c : classes_of(meta, box.od_id))
      out += std::format("{} of {} {} {}\n", c.names.size(), box.label, c.from_box, c.to_box);
  }
  return out;
}

}  // namespace keepbox::test
