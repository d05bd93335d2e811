// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes batches of streams (see framebatch.h).
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <functional>
#include <memory>
#include <set>

#include "gst/base/batchstreamstates.h"
#include "gst/decode/decoder.h"

namespace keepbox {

/// A stream of the batches.
struct DecodeStreamState {
  std::unique_ptr<Decoder> own;  // unless it is the element's
  Decoder& decoder;
  RepeatedEvents events;
  bool decodes = false;  // the stream is video
};

/// The streams of an element's batches, each with a decoder for its picture and its tensors. For
/// the streaming thread.
class DecodeBatches {
 public:
  /// @param element, @param stop as for Decoder. @param first decodes the first stream. All outlive
  /// this.
  DecodeBatches(GstElement* element, const std::atomic<bool>* stop, Decoder& first)
      : element_(element), stop_(stop), first_(first) {}

  /// Decodes a frame with the decoder of its stream, and attaches its boxes.
  using Decode = std::function<GstFlowReturn(Decoder& decoder, GstBuffer* frame)>;

  /// Decodes the frames of a batch up to the first that does not flow. Streams other than video
  /// pass. @param batch writable. kMismatch if it is no batch.
  Result<GstFlowReturn> run(GstBuffer* batch, const Decode& decode);

  /// Sets properties like Decoder::set_props(), for the streams that are not the element's own.
  void set_props(const DecodeProps& props);
  /// Forgets the streams.
  void clear() { states_.clear(); }

 private:
  std::unique_ptr<DecodeStreamState> make_stream_state(bool taken);

  GstElement* element_;
  const std::atomic<bool>* stop_;
  Decoder& first_;
  BatchStreamStates<DecodeStreamState> states_;
};

}  // namespace keepbox
