// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures of a frame that a model is run on, and the form of its pixels.
#pragma once

#include <gst/video/video.h>

#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/plan/crops.h"
#include "core/plan/input.h"
#include "core/plan/tiles.h"

namespace keepbox {

// GStreamer's description of raw video, translated for core.

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

// The pictures that a model is given of a frame: the whole frame, its tiles, or its objects.

/// A part of a frame, and its conversion to the model input as if it were a frame of its own.
struct PicturePlan {
  InputPlan plan;
  PixelArea area;
};

/// All pictures of a frame, in the order of the tensors' images.
struct Pictures {
  std::vector<PicturePlan> plans;  // empty for objects
  std::optional<CropPlan> crops;   // of objects, which differ from frame to frame
  unsigned max_pictures = 1;       // pictures of a frame
  Letterbox geometry;              // from the frame to the input of the first picture
  std::vector<Tile> tiles;         // empty if the only picture is the whole frame
};

/// Returns the picture whose size decides the input of a model of dynamic size: the frame, or its
/// first tile.
Result<Picture> leading_picture(const Picture& frame, const TileGrid& grid);

/// Plans the pictures of a frame. @param form the layout of `frame`. @param input,mode see
/// plan_input().
Result<Pictures> plan_pictures(const FrameForm& form, const Picture& frame, const TileGrid& grid,
                               const InputForm& input, ResizeMode mode);

/// Plans the pictures of up to `most` objects of a frame. Positions in the model input are not
/// mapped to the frame.
Result<Pictures> plan_objects(const FrameForm& form, const Picture& frame, unsigned max_pictures,
                              const InputForm& input);

}  // namespace keepbox
