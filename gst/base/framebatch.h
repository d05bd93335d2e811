// SPDX-License-Identifier: LGPL-2.1-or-later
// Buffers with frames and events of several streams: GstAnalyticsBatchMeta, which exists from
// GStreamer 1.28 on and is found by name, so that builds with an older version read it, too.
#pragma once

#include <gst/gst.h>

#include <cstddef>
#include <string>
#include <vector>

#include "gst/base/ownedbuffer.h"

namespace keepbox {

/// The layout of GstAnalyticsBatchMeta.
struct BatchMetaLayout;

/// An event or a frame of a stream in a batch; neither, if it is anything else.
struct BatchItem {
  GstEvent* event = nullptr;  // owned by the batch
  OwnedBuffer frame;          // writable
  size_t object = 0;          // place in the stream
};

/// A stream's part of a batch.
struct BatchedStream {
  std::string id;                 // empty if it is unknown
  std::vector<GstEvent*> sticky;  // in force before the first item; owned by the batch
  std::vector<BatchItem> items;   // in their order; frames of a buffer list one by one
};

/// An open batch. Its frames are out of the buffer, so that they can be written to.
class FrameBatch {
 public:
  /// @param buffer writable, and outlives this.
  explicit FrameBatch(GstBuffer* buffer);
  FrameBatch(const FrameBatch&) = delete;
  FrameBatch& operator=(const FrameBatch&) = delete;
  /// Puts the frames back into their places. @pre every item that had a frame has one.
  ~FrameBatch();

  /// False if the buffer is no batch.
  explicit operator bool() const { return meta_ != nullptr; }
  std::vector<BatchedStream>& streams() { return streams_; }
  /// Returns the largest number of frames of a stream.
  size_t max_frames_per_stream() const;

 private:
  BatchMetaLayout* meta_;
  std::vector<BatchedStream> streams_;
};

}  // namespace keepbox
