// SPDX-License-Identifier: LGPL-2.1-or-later
// Packs what readers of boxes read.
#include <algorithm>
#include <optional>

#include "gst/metas/boxclasses.h"
#include "gst/metas/masks.h"
#include "gst/metas/readboxes.h"
#include "gst/metas/records/labelrecords.h"
#include "gst/metas/skippedmodels.h"
#include "gst/metas/trackofbox.h"
#include "gst/metas/weakboxes.h"
#include "gst/metas/wire/boxwire.h"
#include "gst/metas/wire/wirebytes.h"

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

std::vector<guint8> pack_boxes(GstBuffer* buffer) {
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  std::vector<FrameBox> boxes;
  KeypointStore points;
  read_boxes(buffer, boxes, &points);
  const LabelRecords records(meta);
  ByteWriter out;
  out.put_count(boxes.size());
  for (const FrameBox& box : boxes) {
    put_box(out, box, track_of(meta, box.od_id), index_of(boxes, box.parent));
    BoxLabels labels;
    records.find(box.od_id, labels);
    put_labels(out, labels);
    put_classes(out, classes_of(meta, box.od_id));
  }
  const std::vector<FrameBox> weak = read_weak_boxes(buffer);
  out.put_count(weak.size());
  for (const FrameBox& box : weak) put_box(out, box, std::nullopt, kNoParent);
  BoxLabels labels;
  records.find(kWholeFrame, labels);
  put_labels(out, labels);
  put_classes(out, classes_of_frame(meta));
  const SkippedModels skipped(buffer);
  out.put_count(skipped.noted().size() + skipped.all());
  for (const GQuark model : skipped.noted()) out.put_name(model);
  if (skipped.all()) out.put_name(0);  // boxes of other decoders name no model
  return {out.bytes().begin(), out.bytes().end()};
}

}  // namespace keepbox
