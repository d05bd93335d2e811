// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes and reads weak boxes.
#include "gst/metas/weakboxes.h"

#include "gst/metas/records/boxrecords.h"
#include "gst/metas/records/payloadrecords.h"

namespace keepbox {
namespace {

FrameBox box_of(const WeakRecord& weak, const PayloadRecords& payloads) {
  const BoxRecord& r = weak.record;
  return {.box = {r.x1, r.y1, r.x2, r.y2},
          .score = r.score,
          .angle = r.angle,
          .label = r.label,
          .class_id = r.class_id,
          .anchor = r.anchor,
          .model = weak.model.name,
          .unnamed = weak.model.unnamed,
          .coco = weak.model.coco,
          .held = weak.model.held,
          .od_id = r.od_id,
          .keypoints = payloads.keypoints(r.od_id),
          .values = payloads.values(r.od_id)};
}

}  // namespace

void attach_weak_boxes(GstBuffer* buffer, std::span<FrameBox> boxes) {
  if (boxes.empty()) return;
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  // Numbered on from those of other decoders, because payloads are found by number.
  const gsize first = weak_records(meta).size();
  for (gsize i = 0; i < boxes.size(); ++i) boxes[i].od_id = weak_id(first + i);
  {
    RecordWriter writer(meta, boxes.size(), model_of(boxes.front()), true);
    for (const FrameBox& box : boxes) writer.add(record_of(box));
  }
  add_payloads(meta, boxes);
}

std::vector<FrameBox> read_weak_boxes(GstBuffer* buffer) {
  std::vector<FrameBox> out;
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (meta == nullptr) return out;
  const auto records = weak_records(meta);
  if (records.empty()) return out;
  const PayloadRecords payloads(meta);
  for (const WeakRecord& weak : records) out.push_back(box_of(weak, payloads));
  return out;
}

}  // namespace keepbox
