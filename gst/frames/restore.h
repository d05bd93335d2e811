// SPDX-License-Identifier: LGPL-2.1-or-later
// The work of framerestore on one frame.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <optional>
#include <vector>

#include "core/formula/letterbox.h"
#include "gst/metas/pixelmap.h"

namespace keepbox {

/// A picture and its storage format.
struct FrameFormat {
  Picture picture;
  GstVideoInfo info;   // for unknown formats only the size
  bool plain = false;  // raw video in system memory, which can be mapped
};

/// Parses fixed caps; std::nullopt if they lack a size.
std::optional<FrameFormat> frame_format(const GstCaps* caps);

/// Takes the saved frame off a scaled one, writable, and without copying pixels if it is not
/// shared. Transfer full. @param scaled loses its pixels, and may become another buffer.
GstBuffer* take_frame(GstBuffer** scaled);

/// Moves timestamps, flags and metas of the scaled frame to the full one, with metas mapped. The
/// full frame keeps its own flags of pixel storage and the metas that it already has.
/// @param mode fits the picture if a scaler dropped the transform metadata.
void transfer_metas(GstBuffer* scaled, const FrameFormat& from, GstBuffer* full,
                    const FrameFormat& to, const PixelMap& map, ResizeMode mode);

/// Returns a frame whose planes are laid out as its caps require, for elements that ignore
/// GstVideoMeta: the buffer itself or a copy. Transfer full of both.
GstBuffer* with_plain_planes(GstBuffer* frame, const FrameFormat& as);

// Events that wait for caps which must precede them.

/// Owns sticky events in their order.
class HeldEvents {
 public:
  HeldEvents() = default;
  HeldEvents(const HeldEvents&) = delete;
  HeldEvents& operator=(const HeldEvents&) = delete;
  ~HeldEvents() { clear(); }

  /// @param event transfer full.
  void add(GstEvent* event) { events_.push_back(event); }
  /// Pushes the events, which are then no longer held.
  void push_to(GstPad* pad);
  /// Drops segments on a flush and keeps the other sticky events, as pads do.
  void drop_segments();
  void clear();

 private:
  std::vector<GstEvent*> events_;
};

}  // namespace keepbox
