// SPDX-License-Identifier: LGPL-2.1-or-later
// GStreamer's description of raw video in core's words.
#pragma once

#include <gst/video/video.h>

#include "core/input.h"
#include "core/result.h"

namespace keepbox {

/// How frames of these caps lie in memory and what their samples mean, by the caps' own colour
/// matrix, range and chroma siting; of alpha nothing is seen. kUnsupported for formats whose
/// samples are not bytes at even distances: other depths, tiles, palettes.
Result<FrameForm> frame_form_of(const GstVideoInfo& info);

/// A frame that is mapped while this lives.
class MappedFrame {
 public:
  MappedFrame() = default;
  MappedFrame(const MappedFrame&) = delete;
  MappedFrame& operator=(const MappedFrame&) = delete;
  ~MappedFrame() {
    if (mapped_) gst_video_frame_unmap(&frame_);
  }

  /// Once. kTruncated for what cannot be mapped so.
  Status map(GstBuffer* buffer, const GstVideoInfo& info, GstMapFlags flags);
  const GstVideoFrame& get() const { return frame_; }

 private:
  GstVideoFrame frame_;
  bool mapped_ = false;
};

/// Where a mapped frame's planes are: in the memory that it was mapped in.
FramePlanes planes_of(const GstVideoFrame& frame);

}  // namespace keepbox
