// SPDX-License-Identifier: LGPL-2.1-or-later
// Follows the caps of streams in batches, and gathers their frames.
#include "gst/decode/decodebatches.h"

#include <utility>

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

/// A stream's part of the batch.
struct DecodeTurn {
  DecodeStreamState& state;
  const BatchedStream& stream;
  size_t next = 0;  // item
};

/// The decoding of one batch.
class DecodeRun {
 public:
  DecodeRun(FrameGroup& group, const FrameGroup::Finish& finish) : group_(group), finish_(finish) {}

  GstFlowReturn run(std::vector<DecodeTurn>& turns) {
    for (const DecodeTurn& turn : turns)
      for (GstEvent* event : turn.stream.sticky) take(turn.state, event);
    for (bool more = true; more;) {
      more = false;
      for (DecodeTurn& turn : turns) more = advance(turn) || more;
    }
    finish();
    return flow_;
  }

 private:
  /// Gathers a stream's next frame, and takes the events before it. Returns false after the last
  /// frame.
  bool advance(DecodeTurn& turn) {
    while (flow_ == GST_FLOW_OK && turn.next < turn.stream.items.size()) {
      const BatchItem& item = turn.stream.items[turn.next++];
      if (item.event != nullptr) take(turn.state, item.event);
      if (!item.frame || !turn.state.decodes) continue;
      group_.add(turn.state.decoder, item.frame.get());
      return true;
    }
    return false;
  }

  void take(DecodeStreamState& state, GstEvent* event) {
    if (!state.events.take(event) || GST_EVENT_TYPE(event) != GST_EVENT_CAPS) return;
    finish();  // frames before the caps
    GstCaps* caps = nullptr;
    gst_event_parse_caps(event, &caps);
    set_caps(state, caps);
  }

  void finish() {
    if (flow_ == GST_FLOW_OK) flow_ = group_.finish(finish_);
  }

  FrameGroup& group_;
  const FrameGroup::Finish& finish_;
  GstFlowReturn flow_ = GST_FLOW_OK;
};

}  // namespace

std::vector<DecodeStreamState*> DecodeBatches::follow(const std::vector<BatchedStream>& streams) {
  bool taken = false;
  states_.for_each([&](const DecodeStreamState& state) { taken = taken || !state.own; });
  return states_.follow(streams, [&] {
    const bool apart = std::exchange(taken, true);
    auto own = apart ? std::make_unique<Decoder>(element_, stop_, first_) : nullptr;
    Decoder& decoder = own ? *own : first_;
    return std::make_unique<DecodeStreamState>(std::move(own), decoder);
  });
}

/// Drops what no stream needs any more.
void DecodeBatches::keep_joints(const std::vector<DecodeStreamState*>& lanes) {
  std::vector<const Decoder*> decoders;
  for (const DecodeStreamState* state : lanes) decoders.push_back(&state->decoder);
  group_.keep_for(decoders);
}

Result<GstFlowReturn> DecodeBatches::run(GstBuffer* buffer, const FrameGroup::Finish& finish) {
  FrameBatch batch(buffer);
  if (!batch) return no_batch();
  const std::vector<DecodeStreamState*> lanes = follow(batch.streams());
  std::vector<DecodeTurn> turns;
  for (size_t i = 0; i < lanes.size(); ++i) turns.push_back({*lanes[i], batch.streams()[i]});
  const GstFlowReturn flow = DecodeRun(group_, finish).run(turns);
  keep_joints(lanes);
  return flow;
}

void DecodeBatches::set_props(const DecodeProps& props) {
  states_.for_each([&](DecodeStreamState& state) {
    if (state.own) state.own->set_props(props);
  });
}

void DecodeBatches::clear() {
  states_.clear();
  group_.clear();
}

}  // namespace keepbox
