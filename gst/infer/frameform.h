// SPDX-License-Identifier: LGPL-2.1-or-later
// GStreamer's description of raw video, translated for core.
#pragma once

#include <gst/video/video.h>

#include "core/base/result.h"
#include "core/plan/input.h"

namespace keepbox {

/// Returns the memory layout and meaning of frames with these caps, including colour matrix, range
/// and chroma siting; alpha is ignored. kUnsupported for formats other than 8 bits per sample in
/// regular positions: other depths, tiles, palettes.
Result<FrameForm> frame_form_of(const GstVideoInfo& info);
/// Returns the caps of all frames that it supports, in system or CUDA memory. Transfer full.
GstCaps* frame_form_caps();

/// A frame that is mapped for the lifetime of this object.
class MappedFrame {
 public:
  MappedFrame() = default;
  MappedFrame(const MappedFrame&) = delete;
  MappedFrame& operator=(const MappedFrame&) = delete;
  ~MappedFrame() {
    if (mapped_) gst_video_frame_unmap(&frame_);
  }

  /// Maps a frame, once. kTruncated if it cannot be mapped.
  Status map(GstBuffer* buffer, const GstVideoInfo& info, GstMapFlags flags);
  const GstVideoFrame& get() const { return frame_; }

 private:
  GstVideoFrame frame_;
  bool mapped_ = false;
};

/// Returns the planes of a mapped frame, in the memory that it was mapped in.
FramePlanes planes_of(const GstVideoFrame& frame);

}  // namespace keepbox
