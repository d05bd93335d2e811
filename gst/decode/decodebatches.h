// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes batches of streams (see framebatch.h).
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <memory>
#include <vector>

#include "gst/base/batchstreamstates.h"
#include "gst/decode/decoder.h"
#include "gst/decode/framegroup.h"

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

  /// Decodes the frames of a batch, those with the same plan together: first those that each stream
  /// begins with, then the next of each. Streams other than video pass.
  /// @param batch writable. @param finish attaches the boxes of a frame; no frame is decoded after
  /// one that does not flow. kMismatch if it is no batch.
  Result<GstFlowReturn> run(GstBuffer* batch, const FrameGroup::Finish& finish);

  /// Sets properties like Decoder::set_props(), for the streams that are not the element's own.
  void set_props(const DecodeProps& props);
  /// Forgets the streams.
  void clear();

 private:
  std::vector<DecodeStreamState*> follow(const std::vector<BatchedStream>& streams);
  void keep_joints(const std::vector<DecodeStreamState*>& lanes);

  GstElement* element_;
  const std::atomic<bool>* stop_;
  Decoder& first_;
  BatchStreamStates<DecodeStreamState> states_;
  FrameGroup group_;
};

}  // namespace keepbox
