// SPDX-License-Identifier: LGPL-2.1-or-later
// Follows the caps of streams in batches.
#include "gst/decode/decodebatches.h"

#include <utility>
#include <vector>

#include "gst/base/batchcaps.h"
#include "gst/base/picture.h"

namespace keepbox {
namespace {

void set_caps(DecodeStreamState& state, const GstCaps* caps) {
  const bool video = gst_structure_has_name(gst_caps_get_structure(caps, 0), "video/x-raw");
  const auto picture = video ? picture_of(caps) : std::nullopt;
  state.decodes = picture.has_value();
  if (picture) state.decoder.set_picture(*picture);
}

void take(DecodeStreamState& state, GstEvent* event) {
  if (!state.events.take(event) || GST_EVENT_TYPE(event) != GST_EVENT_CAPS) return;
  GstCaps* caps = nullptr;
  gst_event_parse_caps(event, &caps);
  set_caps(state, caps);
}

GstFlowReturn decode_stream(DecodeStreamState& state, const BatchedStream& stream,
                            const DecodeBatches::Decode& decode) {
  GstFlowReturn flow = GST_FLOW_OK;
  for (GstEvent* event : stream.sticky) take(state, event);
  for (const BatchItem& item : stream.items) {
    if (item.event != nullptr) take(state, item.event);
    if (item.frame && state.decodes && flow == GST_FLOW_OK)
      flow = decode(state.decoder, item.frame.get());
  }
  return flow;
}

}  // namespace

std::unique_ptr<DecodeStreamState> DecodeBatches::make_stream_state(bool taken) {
  auto own = taken ? std::make_unique<Decoder>(element_, stop_, first_) : nullptr;
  Decoder& decoder = own ? *own : first_;
  return std::make_unique<DecodeStreamState>(std::move(own), decoder);
}

Result<GstFlowReturn> DecodeBatches::run(GstBuffer* buffer, const Decode& decode) {
  FrameBatch batch(buffer);
  if (!batch) return no_batch();
  bool taken = false;
  states_.for_each([&](const DecodeStreamState& state) { taken = taken || !state.own; });
  const auto lanes = states_.follow(batch.streams(),
                                    [&] { return make_stream_state(std::exchange(taken, true)); });
  GstFlowReturn flow = GST_FLOW_OK;
  for (size_t i = 0; i < lanes.size() && flow == GST_FLOW_OK; ++i)
    flow = decode_stream(*lanes[i], batch.streams()[i], decode);
  return flow;
}

void DecodeBatches::set_props(const DecodeProps& props) {
  states_.for_each([&](DecodeStreamState& state) {
    if (state.own) state.own->set_props(props);
  });
}

}  // namespace keepbox
