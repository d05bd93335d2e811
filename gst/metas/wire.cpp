// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes of a frame as bytes, for other processes.
#include "gst/metas/wire.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "gst/metas/boxes.h"
#include "gst/metas/labels.h"
#include "gst/metas/masks.h"
#include "gst/metas/records.h"
#include "gst/metas/relationmeta.h"
#include "gst/metas/skippedmodels.h"

namespace keepbox {
namespace {

guint16 flags_of(const FrameBox& box, const std::optional<TrackInfo>& track) {
  const auto flag = [](bool is, WireFlags f) { return is ? int{f} : 0; };
  return static_cast<guint16>(
      flag(box.class_id.has_value(), kWireClass) | flag(box.anchor.has_value(), kWireAnchor) |
      flag(box.unnamed, kWireUnnamed) | flag(box.held, kWireHeld) |
      flag(box.predicted, kWirePredicted) | flag(track.has_value(), kWireTrack) |
      flag(track && track->lost, kWireLost) | flag(box.coco, kWireCoco));
}

void put_place(ByteWriter& out, const Box& place) {
  for (const float v : {place.x1, place.y1, place.x2, place.y2}) out.put(v);
}

void put_keypoints(ByteWriter& out, const FrameKeypoints& keypoints) {
  out.put_name(keypoints.name);
  out.put_count(keypoints.points.size());
  for (const Keypoint& p : keypoints.points) out.put(p.x), out.put(p.y), out.put(p.score);
  out.put_count(keypoints.edges.size());
  for (const Edge& edge : keypoints.edges) out.put(edge.from), out.put(edge.to);
}

void put_values(ByteWriter& out, const FrameValues& values) {
  out.put_name(values.kind);
  out.put_count(values.values.size());
  for (const float value : values.values) out.put(value);
}

guint32 word_of(const guint8* pixels, guint count) {
  guint32 word = 0;
  for (guint i = 0; i < count; ++i) word |= static_cast<guint32>(pixels[i] != 0) << i;
  return word;
}

/// Writes a bit for each pixel. A mask that cannot be read has none.
void put_mask(ByteWriter& out, const FrameMask& mask) {
  const MaskView view(is_mask(mask.pixels) ? mask.pixels : nullptr);
  out.put_count(view ? view.width() : 0);
  out.put_count(view ? view.height() : 0);
  if (!view) return;
  put_place(out, mask.place);
  for (guint y = 0; y < view.height(); ++y)
    for (guint x = 0; x < view.width(); x += kWordPixels)
      out.put(word_of(view.row(y) + x, std::min(view.width() - x, kWordPixels)));
}

/// @param parent index of the box that it is a part of.
void put_box(ByteWriter& out, const FrameBox& box, const std::optional<TrackInfo>& track,
             guint32 parent) {
  out.put(flags_of(box, track));
  put_place(out, box.box);
  out.put(box.score), out.put(box.angle);
  out.put_name(box.label), out.put_name(box.model);
  out.put(box.class_id.value_or(0)), out.put(box.anchor.value_or(0));
  out.put(parent);
  if (track) out.put(track->id), out.put(track->first_seen), out.put(track->last_seen);
  put_keypoints(out, box.keypoints);
  put_values(out, box.values);
  put_mask(out, box.mask);
}

void put_labels(ByteWriter& out, const BoxLabels& labels) {
  out.put_count(labels.size());
  for (const BoxLabel& label : labels) {
    out.put_text(label.text);
    out.put(label.level);
    out.put(label.class_id.value_or(G_MAXUINT));
    out.put_name(label.attribute), out.put_name(label.model);
  }
}

void put_classes(ByteWriter& out, std::span<const BoxClasses> all) {
  out.put_count(all.size());
  for (const BoxClasses& classes : all) {
    out.put(classes.from_box), out.put(classes.to_box);
    out.put_count(classes.names.size());
    for (size_t i = 0; i < classes.names.size(); ++i)
      out.put(classes.levels[i]), out.put_name(classes.names[i]);
  }
}

guint32 index_of(std::span<const FrameBox> boxes, std::optional<guint> od_id) {
  if (!od_id) return kNoParent;
  const auto found = std::ranges::find(boxes, *od_id, &FrameBox::od_id);
  return found != boxes.end() ? static_cast<guint32>(found - boxes.begin()) : kNoParent;
}

}  // namespace

namespace {

void put_corner(ByteWriter& out, Corner p) { out.put(p.x), out.put(p.y); }

void put_object(ByteWriter& out, const ObjectKey& object, GQuark label) {
  out.put_name(object.model), out.put(object.id), out.put_name(label);
}

void put_line(ByteWriter& out, const LineCount& line) {
  out.put_text(line.name);
  for (const Corner& point : line.points) put_corner(out, point);
  for (const std::string& name : line.directions) out.put_text(name);
  for (const ByDirection* numbers : {&line.crossed, &line.uncertain})
    for (const guint64 number : *numbers) out.put(number);
}

void put_zone(ByteWriter& out, const ZoneCount& zone) {
  out.put_text(zone.name);
  out.put_count(zone.corners.size());
  for (const Corner& corner : zone.corners) put_corner(out, corner);
  out.put(zone.visits), out.put(zone.mean), out.put(zone.longest);
  out.put<guint8>(zone.crowded);
  out.put_count(zone.present.size());
  for (const PresentObject& each : zone.present) {
    put_object(out, each.object, each.label);
    out.put(each.since), out.put(each.dwell);
    out.put<guint8>(each.alarmed);
  }
}

void put_note(ByteWriter& out, const CountNote& note) {
  out.put(static_cast<guint8>(note.kind));
  out.put_text(note.name), out.put_text(note.direction);
  put_object(out, note.object, note.label);
  out.put<guint8>(note.unnamed);
  out.put(note.ago), out.put(note.dwell), out.put(note.now);
}

void put_counts(ByteWriter& out, const FrameCounts& counts) {
  out.put_count(counts.lines.size());
  for (const LineCount& line : counts.lines) put_line(out, line);
  out.put_count(counts.zones.size());
  for (const ZoneCount& zone : counts.zones) put_zone(out, zone);
  out.put_count(counts.notes.size());
  for (const CountNote& note : counts.notes) put_note(out, note);
}

std::vector<guint8> all_of(const ByteWriter& out) {
  return {out.bytes().begin(), out.bytes().end()};
}

}  // namespace

std::vector<guint8> pack_counts(const FrameCounts& counts) {
  ByteWriter out;
  put_counts(out, counts);
  return all_of(out);
}

std::vector<guint8> pack_boxes(GstBuffer* buffer) {
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  std::vector<FrameBox> boxes;
  KeypointStore points;
  read_boxes(buffer, boxes, &points);
  const Records records(meta);
  ByteWriter out;
  out.put_count(boxes.size());
  for (const FrameBox& box : boxes) {
    put_box(out, box, track_of(meta, box.od_id), index_of(boxes, box.parent));
    BoxLabels labels;
    records.read_labels(box.od_id, labels);
    put_labels(out, labels);
    put_classes(out, classes_of(meta, box.od_id));
  }
  const std::vector<FrameBox> weak = read_weak_boxes(buffer);
  out.put_count(weak.size());
  for (const FrameBox& box : weak) put_box(out, box, std::nullopt, kNoParent);
  BoxLabels labels;
  records.read_labels(kWholeFrame, labels);
  put_labels(out, labels);
  put_classes(out, classes_of_frame(meta));
  const SkippedModels skipped(buffer);
  out.put_count(skipped.noted().size());
  for (const GQuark model : skipped.noted()) out.put_name(model);
  out.put<guint8>(skipped.all());
  const FrameCounts* counts = counts_of(buffer);
  put_counts(out, counts != nullptr ? *counts : FrameCounts{});
  out.put<guint8>(meta == nullptr && !skipped.any());
  return all_of(out);
}

namespace {

constexpr guint32 kMaxSide = 65535;  // of a mask, in pixels
// Minimum size in bytes of a packed box, label, classification and name, and of what counts have.
constexpr gsize kMinBox = 64, kMinLabel = 20, kMinClasses = 12, kMinName = 4;
constexpr gsize kMinLine = 76, kMinZone = 37, kMinCorner = 16, kMinPresent = 33, kMinNote = 46;

using Subject = std::pair<GQuark, GQuark>;  // model and attribute

/// Boxes and classes that were read, with the memory that they borrow.
class Unpacked {
 public:
  explicit Unpacked(ByteReader& in);

  /// Attaches everything. @param bytes about as many as its records need.
  Status attach(GstBuffer* buffer, gsize bytes);

 private:
  void read_box(ByteReader& in, std::vector<FrameBox>& to);
  void read_keypoints(ByteReader& in, FrameKeypoints& out);
  void read_values(ByteReader& in, FrameValues& out);
  void read_mask(ByteReader& in);
  void read_labels(ByteReader& in, guint box);
  std::vector<BoxClasses> read_classes(ByteReader& in);
  gsize mtds() const;

  std::vector<FrameBox> boxes_, weak_;
  std::vector<std::optional<TrackInfo>> tracks_;  // of boxes
  std::vector<std::vector<BoxClasses>> classes_;  // of boxes
  std::vector<BoxClasses> of_frame_;
  std::vector<GQuark> skipped_;  // models
  bool all_skipped_ = false;     // whatever they are called
  FrameCounts counts_;
  bool only_counts_ = false;                            // no decoder was there
  std::map<Subject, std::vector<ObjectLabel>> labels_;  // od_id: index of the box, or kWholeFrame
  KeypointStore keypoints_;
  std::deque<std::vector<float>> values_;
  std::deque<std::vector<uint32_t>> bits_;
  std::vector<Mask> masks_;  // of boxes, then of weak boxes
};

Box read_place(ByteReader& in) {
  Box out;
  for (float* v : {&out.x1, &out.y1, &out.x2, &out.y2}) *v = in.get<float>();
  return out;
}

void Unpacked::read_keypoints(ByteReader& in, FrameKeypoints& out) {
  out.name = in.get_name();
  auto& points = keypoints_.points.emplace_back(in.get_count(sizeof(Keypoint)));
  for (Keypoint& p : points)
    p.x = in.get<float>(), p.y = in.get<float>(), p.score = in.get<float>();
  auto& edges = keypoints_.edges.emplace_back(in.get_count(sizeof(Edge)));
  for (Edge& edge : edges) {
    edge = {in.get<guint8>(), in.get<guint8>()};
    if (edge.from >= points.size() || edge.to >= points.size()) in.fail();
  }
  out.points = points;
  out.edges = edges;
}

void Unpacked::read_values(ByteReader& in, FrameValues& out) {
  out.kind = in.get_name();
  auto& values = values_.emplace_back(in.get_count(sizeof(float)));
  for (float& value : values) value = in.get<float>();
  out.values = values;
}

void Unpacked::read_mask(ByteReader& in) {
  Mask& mask = masks_.emplace_back();
  const auto width = in.get<guint32>(), height = in.get<guint32>();
  if (width == 0 || height == 0) return;
  const guint32 words = (width - 1) / kWordPixels + 1;
  const Box place = read_place(in);
  if (std::max(width, height) > kMaxSide || !in.has(gsize{words} * height * sizeof(guint32)))
    return in.fail();
  auto& bits = bits_.emplace_back();
  bits.resize(gsize{words} * height);
  for (uint32_t& word : bits) word = in.get<guint32>();
  mask = {.bits = bits.data(),
          .stride = words,
          .first = 0,
          .width = width,
          .height = height,
          .place = place};
}

void Unpacked::read_box(ByteReader& in, std::vector<FrameBox>& to) {
  const auto flags = in.get<guint16>();
  FrameBox box{.box = read_place(in)};
  box.score = in.get<float>(), box.angle = in.get<float>();
  box.label = in.get_name(), box.model = in.get_name();
  const auto class_id = in.get<guint32>(), anchor = in.get<guint32>(), parent = in.get<guint32>();
  if ((flags & kWireClass) != 0) box.class_id = class_id;
  if ((flags & kWireAnchor) != 0) box.anchor = anchor;
  box.unnamed = (flags & kWireUnnamed) != 0;
  box.coco = (flags & kWireCoco) != 0;
  box.held = (flags & kWireHeld) != 0;
  box.predicted = (flags & kWirePredicted) != 0;
  // Parents precede their parts; ids on the new frame are the numbers of the boxes.
  if (parent < to.size()) box.parent = parent;
  auto& track = tracks_.emplace_back();
  if ((flags & kWireTrack) != 0)
    track = {in.get<guint64>(), in.get<guint64>(), in.get<guint64>(), (flags & kWireLost) != 0};
  read_keypoints(in, box.keypoints);
  read_values(in, box.values);
  read_mask(in);
  to.push_back(box);
}

/// Returns valid UTF-8; a text that was cut may end within a character.
std::string valid_text(std::string_view text) {
  g_autofree gchar* valid = g_utf8_make_valid(text.data(), static_cast<gssize>(text.size()));
  return valid;
}

void Unpacked::read_labels(ByteReader& in, guint box) {
  for (gsize left = in.get_count(kMinLabel); left != 0 && !in.failed(); --left) {
    ObjectLabel label{.od_id = box, .class_id = 0};
    const std::string text = valid_text(in.get_text());
    label.level = in.get<float>();
    label.class_id = in.get<guint32>();
    const GQuark attribute = in.get_name(), model = in.get_name();
    if (label.class_id == G_MAXUINT) label.text = text;
    else label.name = quark_from_wire(text);
    auto& same = labels_[{model, attribute}];
    if (same.empty() || same.back().od_id != box) same.push_back(std::move(label));
  }
}

std::vector<BoxClasses> Unpacked::read_classes(ByteReader& in) {
  std::vector<BoxClasses> out(in.get_count(kMinClasses));
  for (BoxClasses& classes : out) {
    classes.from_box = in.get<guint32>(), classes.to_box = in.get<guint32>();
    for (gsize left = in.get_count(8); left != 0 && !in.failed(); --left) {
      classes.levels.push_back(in.get<float>());
      classes.names.push_back(in.get_name());
    }
  }
  return out;
}

Corner read_corner(ByteReader& in) {
  const auto x = in.get<double>(), y = in.get<double>();
  if (!std::isfinite(x) || !std::isfinite(y)) in.fail();
  return {x, y};
}

void read_object(ByteReader& in, ObjectKey& object, GQuark& label) {
  object.model = in.get_name();
  object.id = in.get<guint64>();
  label = in.get_name();
}

LineCount read_line(ByteReader& in) {
  LineCount out{.name = valid_text(in.get_text())};
  for (Corner& point : out.points) point = read_corner(in);
  for (std::string& name : out.directions) name = valid_text(in.get_text());
  for (ByDirection* numbers : {&out.crossed, &out.uncertain})
    for (guint64& number : *numbers) number = in.get<guint64>();
  return out;
}

ZoneCount read_zone(ByteReader& in) {
  ZoneCount out{.name = valid_text(in.get_text())};
  for (gsize left = in.get_count(kMinCorner); left != 0 && !in.failed(); --left)
    out.corners.push_back(read_corner(in));
  out.visits = in.get<guint64>(), out.mean = in.get<guint64>(), out.longest = in.get<guint64>();
  out.crowded = in.get<guint8>() != 0;
  for (gsize left = in.get_count(kMinPresent); left != 0 && !in.failed(); --left) {
    PresentObject& each = out.present.emplace_back();
    read_object(in, each.object, each.label);
    each.since = in.get<guint64>(), each.dwell = in.get<guint64>();
    each.alarmed = in.get<guint8>() != 0;
  }
  return out;
}

CountNote read_note(ByteReader& in) {
  const auto kind = in.get<guint8>();
  if (kind > static_cast<guint8>(CountNote::Kind::kCrowded)) in.fail();
  CountNote out{.kind = static_cast<CountNote::Kind>(kind), .name = valid_text(in.get_text())};
  out.direction = valid_text(in.get_text());
  read_object(in, out.object, out.label);
  out.unnamed = in.get<guint8>() != 0;
  out.ago = in.get<guint64>(), out.dwell = in.get<guint64>(), out.now = in.get<guint32>();
  return out;
}

FrameCounts read_counts(ByteReader& in) {
  FrameCounts out;
  for (gsize left = in.get_count(kMinLine); left != 0 && !in.failed(); --left)
    out.lines.push_back(read_line(in));
  for (gsize left = in.get_count(kMinZone); left != 0 && !in.failed(); --left)
    out.zones.push_back(read_zone(in));
  for (gsize left = in.get_count(kMinNote); left != 0 && !in.failed(); --left)
    out.notes.push_back(read_note(in));
  return out;
}

Unpacked::Unpacked(ByteReader& in) {
  for (gsize left = in.get_count(kMinBox); left != 0 && !in.failed(); --left) {
    read_box(in, boxes_);
    read_labels(in, static_cast<guint>(boxes_.size() - 1));
    classes_.push_back(read_classes(in));
  }
  for (gsize left = in.get_count(kMinBox); left != 0 && !in.failed(); --left) {
    read_box(in, weak_);
    if (!weak_.back().class_id || !weak_.back().anchor) in.fail();
  }
  read_labels(in, kWholeFrame);
  of_frame_ = read_classes(in);
  for (gsize left = in.get_count(kMinName); left != 0 && !in.failed(); --left)
    skipped_.push_back(in.get_name());
  all_skipped_ = in.get<guint8>() != 0;
  counts_ = read_counts(in);
  only_counts_ = in.get<guint8>() != 0;
  if (!in.at_end()) in.fail();
}

/// Returns the number of runs of boxes of one model, each of which has records of its own.
gsize runs_in(const std::vector<FrameBox>& boxes) {
  gsize runs = boxes.empty() ? 0 : 1;
  for (gsize i = 1; i < boxes.size(); ++i) runs += model_of(boxes[i]) != model_of(boxes[i - 1]);
  return runs;
}

/// Returns slightly more than what is attached beyond boxes and masks.
gsize Unpacked::mtds() const {
  constexpr gsize kRecordsEach = 3;
  gsize out = of_frame_.size() + labels_.size() + kRecordsEach * runs_in(boxes_) + runs_in(weak_) +
              skipped_.size();
  for (const auto& track : tracks_) out += track.has_value();
  for (const auto& classes : classes_) out += classes.size();
  return out;
}

Status Unpacked::attach(GstBuffer* buffer, gsize bytes) {
  if (only_counts_ && boxes_.empty()) {
    if (!counts_.empty()) attach_counts(buffer, std::move(counts_));
    return {};
  }
  const MaskBuffers masks = make_mask_buffers(std::span(masks_).first(boxes_.size()));
  for (size_t i = 0; i < boxes_.size(); ++i) boxes_[i].mask = masks[i];
  gsize all = mtds();
  for (const FrameBox& box : boxes_) all += mtds_of(box, false);
  if (all > kMaxMtds) return reject(ErrorKind::kInvalid, "Too many boxes for a frame");
  GstAnalyticsRelationMeta* meta = relation_meta_for(buffer, all, bytes);
  KB_TRY(attach_boxes(buffer, boxes_, {}));
  for (size_t i = 0; i < boxes_.size(); ++i) {
    const guint od_id = boxes_[i].od_id;
    if (tracks_[i]) add_track(meta, od_id, *tracks_[i]);
    for (const BoxClasses& classes : classes_[i]) add_classes(meta, od_id, classes);
  }
  for (auto& [about, labels] : labels_) {
    for (ObjectLabel& label : labels)
      if (label.od_id != kWholeFrame) label.od_id = boxes_[label.od_id].od_id;
    add_labels(meta, {about.first, about.second}, labels);
  }
  for (const BoxClasses& classes : of_frame_) add_classes(meta, G_MAXUINT, classes);
  for (const GQuark model : skipped_) note_skipped_model(buffer, model);
  if (all_skipped_) note_skipped(buffer);
  attach_weak_boxes(buffer, weak_);
  if (!counts_.empty()) attach_counts(buffer, std::move(counts_));
  return {};
}

std::unexpected<Error> damaged() {
  return reject(ErrorKind::kTruncated,
                "The boxes that came with the frame from another process are damaged");
}

}  // namespace

Result<FrameCounts> unpack_counts(std::span<const guint8> bytes) {
  ByteReader in(bytes);
  FrameCounts out = read_counts(in);
  if (in.failed() || !in.at_end()) return damaged();
  return out;
}

Status unpack_boxes(std::span<const guint8> bytes, GstBuffer* buffer) {
  ByteReader in(bytes);
  Unpacked boxes(in);
  if (in.failed()) return damaged();
  return boxes.attach(buffer, bytes.size());
}

GQuark quark_from_wire(std::string_view name) {
  static std::atomic<size_t> added = 0;
  const std::string text(name);
  if (text.empty()) return 0;
  if (const GQuark known = g_quark_try_string(text.c_str())) return known;
  // Threads that add the same name at the same time count it twice.
  const size_t number = added++;
  if (number < kMaxWireNames) return g_quark_from_string(text.c_str());
  if (number == kMaxWireNames)
    GST_WARNING("Other processes have sent %" G_GSIZE_FORMAT
                " different names of classes and models: further ones are left out",
                kMaxWireNames);
  return 0;
}

}  // namespace keepbox
