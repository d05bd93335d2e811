// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes the frames of a batch together.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gst/decode/decoder.h"
#include "gst/decode/jointprocessor.h"

namespace keepbox {

/// Gathers frames of several decoders. Those with the same plan are decoded in one run, others one
/// by one, as is each frame for which that fails.
class FrameGroup {
 public:
  /// Gets each frame in turn when it is decoded: the decoder has its boxes. @param started when its
  /// decoding would have begun if it had taken place at once.
  using Finish = std::function<GstFlowReturn(Decoder& decoder, GstBuffer* frame,
                                             const Status& status, GstClockTime started)>;

  /// Adds a frame. Both outlive the next finish() or clear().
  void add(Decoder& decoder, GstBuffer* frame);
  /// True if there is a frame to be decoded.
  bool has_frames() const { return !entries_.empty(); }
  /// Decodes the frames in their order, up to the first that does not flow.
  GstFlowReturn finish(const Finish& finish);

  /// Drops processors that none of the decoders needs.
  void keep_for(std::span<const Decoder* const> decoders);
  /// Drops all processors and frames.
  void clear();

 private:
  struct Entry {
    Decoder* decoder;
    GstBuffer* frame;
    GstClockTime spent;                     // so far
    std::optional<PreparedFrame> prepared;  // none: to be decoded alone
    JointProcessor* joint = nullptr;        // of a prepared frame
    uint32_t number = 0;                    // in the run
    bool ran = false;                       // the processor has its boxes
  };

  JointProcessor* joint_for(const StreamProcessor& processor);
  Status run_from(size_t first);
  std::vector<Entry*> run_of(size_t first);
  static Status complete(Entry& entry);

  std::vector<std::unique_ptr<JointProcessor>> joints_;
  std::vector<Entry> entries_;
};

}  // namespace keepbox
