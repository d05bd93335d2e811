// SPDX-License-Identifier: LGPL-2.1-or-later
// Follows the caps of streams in batches.
#include "gst/decode/decodebatches.h"

#include <utility>
#include <vector>

#include "gst/base/batchcaps.h"
#include "gst/base/picture.h"

namespace keepbox {
namespace {

void set_caps(DecodeLane& lane, const GstCaps* caps) {
  const bool video = gst_structure_has_name(gst_caps_get_structure(caps, 0), "video/x-raw");
  const auto picture = video ? picture_of(caps) : std::nullopt;
  lane.decodes = picture.has_value();
  if (picture) lane.decoder.set_picture(*picture);
}

void take(DecodeLane& lane, GstEvent* event) {
  if (!lane.events.take(event) || GST_EVENT_TYPE(event) != GST_EVENT_CAPS) return;
  GstCaps* caps = nullptr;
  gst_event_parse_caps(event, &caps);
  set_caps(lane, caps);
}

GstFlowReturn decode_stream(DecodeLane& lane, const BatchedStream& stream,
                            const DecodeBatches::Decode& decode) {
  GstFlowReturn flow = GST_FLOW_OK;
  for (GstEvent* event : stream.sticky) take(lane, event);
  for (const BatchItem& item : stream.items) {
    if (item.event != nullptr) take(lane, item.event);
    if (item.frame && lane.decodes && flow == GST_FLOW_OK)
      flow = decode(lane.decoder, item.frame.get());
  }
  return flow;
}

}  // namespace

std::unique_ptr<DecodeLane> DecodeBatches::make_lane(bool taken) {
  auto own = taken ? std::make_unique<Decoder>(element_, stop_, first_) : nullptr;
  Decoder& decoder = own ? *own : first_;
  return std::make_unique<DecodeLane>(std::move(own), decoder);
}

Result<GstFlowReturn> DecodeBatches::run(GstBuffer* buffer, const Decode& decode) {
  FrameBatch batch(buffer);
  if (!batch) return no_batch();
  bool taken = false;
  lanes_.for_each([&](const DecodeLane& lane) { taken = taken || !lane.own; });
  const auto lanes =
      lanes_.follow(batch.streams(), [&] { return make_lane(std::exchange(taken, true)); });
  GstFlowReturn flow = GST_FLOW_OK;
  for (size_t i = 0; i < lanes.size() && flow == GST_FLOW_OK; ++i)
    flow = decode_stream(*lanes[i], batch.streams()[i], decode);
  return flow;
}

void DecodeBatches::set_props(const DecodeProps& props) {
  lanes_.for_each([&](DecodeLane& lane) {
    if (lane.own) lane.own->set_props(props);
  });
}

}  // namespace keepbox
