// SPDX-License-Identifier: LGPL-2.1-or-later
// The objects of frames as a counter takes them, and its counts as frames have them.
#include "gst/count/objects.h"

#include <algorithm>
#include <format>

#include "core/base/text.h"
#include "core/formula/oriented.h"
#include "core/model/classnames.h"

namespace keepbox {
namespace {

constexpr guint64 kFramesBeforeWarning = 50;

const char* text_of(GQuark quark) {
  const gchar* text = g_quark_to_string(quark);
  return text != nullptr ? text : "";
}

Corner place_of(const Box& box, PlaceOfBox place) {
  const double y = place == PlaceOfBox::kBottom ? double{box.y2} : (double{box.y1} + box.y2) / 2;
  return {(double{box.x1} + box.x2) / 2, y};
}

}  // namespace

void CountedBoxes::set(const CountProps& props) {
  point_ = static_cast<PlaceOfBox>(props.point);
  model_ = props.model_name;
  const auto [kept, dropped] = class_choice(props.include_classes);
  kept_.assign(kept.begin(), kept.end());
  dropped_.assign(dropped.begin(), dropped.end());
  std::erase(kept_, "");
  choice_.clear();
}

void CountedBoxes::restart() {
  looks_ = {};
  choice_.clear();
  frames_without_ids_ = 0;
  has_ids_ = warned_ = false;
}

bool CountedBoxes::counts(const FrameBox& box) {
  if (!model_.empty() && model_ != text_of(box.model)) return false;
  const auto [found, added] = choice_.try_emplace(box.label, false);
  if (added) {
    const std::string_view label = text_of(box.label);
    found->second = (kept_.empty() || std::ranges::contains(kept_, label)) &&
                    !std::ranges::contains(dropped_, label);
  }
  return found->second;
}

CountFrame CountedBoxes::read(GstBuffer* buffer, Size size, int64_t time) {
  const bool decoded = read_boxes(buffer, boxes_, nullptr, size);
  const SkippedModels skipped = looks_.take(SkippedModels(buffer), boxes_);
  points_.clear();
  bool found = false;
  for (const FrameBox& box : boxes_) {
    if (box.held || box.predicted || !counts(box)) continue;
    found = true;
    if (!box.tracking_id) continue;
    has_ids_ = true;
    if (box.unnamed) unnamed_.insert(box.model);
    const Box at = around({box.box, box.angle});
    points_.push_back({.object = {box.model, *box.tracking_id},
                       .at = place_of(at, point_),
                       .height = double{at.y2} - at.y1,
                       .label = box.label});
  }
  frames_without_ids_ += found && points_.empty();
  skipped_.assign(skipped.noted().begin(), skipped.noted().end());
  return {.time = time,
          .size = size,
          .points = points_,
          .skipped = skipped_,
          .all_skipped = !decoded || skipped.all()};
}

std::optional<Error> CountedBoxes::missing_ids_warning(bool end) {
  const guint64 enough = end ? 1 : kFramesBeforeWarning;
  if (has_ids_ || warned_ || frames_without_ids_ < enough) return std::nullopt;
  warned_ = true;
  return problem(ErrorKind::kMismatch, "Nothing is counted, because no box has an id",
                 "put boxtrack before boxcount");
}

std::optional<Error> CountedBoxes::missing_classes_warning() const {
  std::string missing, seen;
  for (const auto& [label, chosen] : choice_) append(seen, text_of(label));
  for (const std::string& name : kept_)
    if (std::ranges::none_of(choice_,
                             [&](const auto& each) { return text_of(each.first) == name; }))
      append(missing, name);
  if (missing.empty() || seen.empty()) return std::nullopt;
  return problem(ErrorKind::kMismatch, "No box had the class " + missing + " of include-classes",
                 "set include-classes to some of: " + seen);
}

namespace {

ObjectKey key_of(const CountObject& object) {
  return {static_cast<GQuark>(object.model), object.id};
}

LineCount line_count(const CountLine& line, const LineSegment& segment, const LineTotals& totals) {
  return {.name = line.name,
          .points = segment.ends(),
          .directions = line.directions,
          .crossed = {totals.crossed[kIn], totals.crossed[kOut]},
          .uncertain = {totals.uncertain[kIn], totals.uncertain[kOut]}};
}

ZoneCount zone_count(const CountZone& zone, const ZoneArea& area, const ZoneTotals& totals) {
  return {.name = zone.name,
          .corners = area.corners(),
          .present = {},
          .visits = totals.visits,
          .mean = static_cast<GstClockTime>(totals.mean()),
          .longest = static_cast<GstClockTime>(totals.longest),
          .crowded = totals.crowded};
}

GstClockTime before(GstClockTime time, int64_t ago) {
  return time - std::min(time, static_cast<GstClockTime>(ago));
}

CountNote note_of(const CountEvent& event) {
  return {.kind = static_cast<CountNote::Kind>(event.kind),
          .name = event.name,
          .direction = event.direction,
          .object = key_of(event.object),
          .label = event.label,
          .ago = static_cast<GstClockTime>(event.ago),
          .dwell = static_cast<GstClockTime>(event.dwell),
          .now = event.now};
}

}  // namespace

FrameCounts frame_counts(const Counter& counter, GstClockTime time) {
  FrameCounts out;
  const CountShapes& shapes = counter.shapes();
  for (size_t i = 0; i < shapes.lines.size(); ++i)
    out.lines.push_back(line_count(shapes.lines[i], counter.segments()[i], counter.lines()[i]));
  const auto present = counter.present();
  for (size_t i = 0; i < shapes.zones.size(); ++i) {
    out.zones.push_back(zone_count(shapes.zones[i], counter.areas()[i], counter.zones()[i]));
    for (const Presence& each : present[i])
      out.zones[i].present.push_back({.object = key_of(each.object),
                                      .label = each.label,
                                      .since = before(time, each.ago),
                                      .dwell = static_cast<GstClockTime>(each.dwell),
                                      .alarmed = each.alarmed});
  }
  return out;
}

std::vector<CountNote> CountedBoxes::notes(const std::vector<CountEvent>& events) const {
  std::vector<CountNote> out;
  for (const CountEvent& event : events) {
    out.push_back(note_of(event));
    out.back().unnamed = unnamed_.contains(out.back().object.model);
  }
  return out;
}

GstStructure* message_of(const CountNote& note, GstClockTime running, GstClockTime stream) {
  const std::string name = std::format("boxcount-{}", word_of(note.kind));
  GstStructure* out =
      gst_structure_new(name.c_str(), "name", G_TYPE_STRING, note.name.c_str(), nullptr);
  const auto set_time = [&](const char* field, GstClockTime time) {
    if (GST_CLOCK_TIME_IS_VALID(time))
      gst_structure_set(out, field, G_TYPE_UINT64, time - std::min(time, note.ago), nullptr);
  };
  set_time("running-time", running);
  set_time("stream-time", stream);
  if (!note.direction.empty())
    gst_structure_set(out, "direction", G_TYPE_STRING, note.direction.c_str(), nullptr);
  using enum CountNote::Kind;
  if (note.kind != kCrowded)
    gst_structure_set(out, "id", G_TYPE_UINT64, note.object.id, "class", G_TYPE_STRING,
                      text_of(note.label), "model", G_TYPE_STRING,
                      note.unnamed ? "" : text_of(note.object.model), nullptr);
  if (note.kind == kLeft || note.kind == kDwelt)
    gst_structure_set(out, "dwell", G_TYPE_UINT64, note.dwell, nullptr);
  if (note.kind != kCrossed && note.kind != kUncertain)
    gst_structure_set(out, "now", G_TYPE_UINT, note.now, nullptr);
  return out;
}

}  // namespace keepbox
