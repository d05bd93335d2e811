// SPDX-License-Identifier: LGPL-2.1-or-later
// A transparent picture above a frame, of which only the parts that were drawn on are attached.
#pragma once

#include <gst/video/video.h>

#include <functional>
#include <opencv2/core.hpp>
#include <vector>

#include "core/base/result.h"
#include "core/formula/letterbox.h"
#include "gst/overlay/canvas.h"

namespace keepbox {

/// Draws on transparent pixels, and attaches the tiles that were drawn on as rectangles. Keeps its
/// memory between frames.
class Layer {
 public:
  /// Side of a tile in pixels. Smaller tiles copy fewer transparent pixels and make more
  /// rectangles, each of which costs a sink a texture.
  static constexpr int kTile = 64;

  /// Draws on a layer of this size, and adds what was drawn to the composition of a frame.
  /// @param by enlargement of the frame on the layer, which covers it.
  Status attach(GstBuffer* buffer, Size frame, float by, const std::function<void(Canvas&)>& act);

 private:
  class Pixels;

  void resize(cv::Size size);
  std::vector<cv::Rect> drawn() const;
  GstBuffer* cut(const cv::Rect& at);
  void add(GstBuffer* buffer, Size frame);

  cv::Mat pixels_;   // BGRA, premultiplied; transparent between frames
  cv::Mat touched_;  // a byte for each tile
};

}  // namespace keepbox
