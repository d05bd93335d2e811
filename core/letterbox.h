// SPDX-License-Identifier: LGPL-2.1-or-later
// Between a frame and the model's input: how a picture was resized, and the way back.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/box.h"

namespace keepbox {

/// How a frame was fitted into the model's input.
enum class ResizeMode : uint8_t {
  kStretch,             // each axis on its own, nothing padded
  kLetterboxCenter,     // aspect kept, padded equally on both sides
  kLetterboxTopLeft,    // aspect kept, padded at the right or the bottom (YOLOX, nvinfer)
  kLetterboxScaler,     // as centred, the picture and its place rounded down to whole pixels, as
                        // videoconvertscale does: up to one model pixel less than centred
};

struct Size {
  uint32_t width = 0, height = 0;
  friend constexpr bool operator==(Size, Size) = default;
};

/// A picture's size in pixels and the shape of one pixel.
struct Picture {
  Size size;
  uint32_t par_n = 1, par_d = 1;  // pixel aspect ratio
};

/// The affine map between the two, one axis at a time: frame = (model - pad) * scale.
struct Letterbox {
  Size frame, model;
  float scale_x = 1, scale_y = 1;  // frame pixels per model pixel
  float pad_x = 0, pad_y = 0;      // model pixels left of and above the picture

  /// 1 / the model's sides.
  float per_pixel_x() const { return 1.0f / static_cast<float>(std::max(model.width, 1u)); }
  float per_pixel_y() const { return 1.0f / static_cast<float>(std::max(model.height, 1u)); }

  Box to_frame(Box b) const {
    return {(b.x1 - pad_x) * scale_x, (b.y1 - pad_y) * scale_y, (b.x2 - pad_x) * scale_x,
            (b.y2 - pad_y) * scale_y};
  }
  Box to_model(Box b) const {
    return {b.x1 / scale_x + pad_x, b.y1 / scale_y + pad_y, b.x2 / scale_x + pad_x,
            b.y2 / scale_y + pad_y};
  }
};

/// The map for a frame resized into a model's input. @pre no size and no pixel aspect ratio is 0.
inline Letterbox make_letterbox(Picture frame, Picture model, ResizeMode mode) {
  const double mw = model.size.width, mh = model.size.height;
  double width = mw, height = mh;  // of the frame's picture, in model pixels
  if (mode != ResizeMode::kStretch) {
    // The picture's display aspect ratio in the model's pixels; products of integers are exact.
    const double across = double{1} * frame.size.width * frame.par_n * model.par_d;
    const double down = double{1} * frame.size.height * frame.par_d * model.par_n;
    if (mw * down <= mh * across) height = mw * down / across;
    else width = mh * across / down;
  }
  double pad_x = 0, pad_y = 0;
  if (mode == ResizeMode::kLetterboxScaler) {
    width = std::max(1.0, std::floor(width));
    height = std::max(1.0, std::floor(height));
    pad_x = std::floor((mw - width) / 2);
    pad_y = std::floor((mh - height) / 2);
  } else if (mode == ResizeMode::kLetterboxCenter) {
    pad_x = (mw - width) / 2;
    pad_y = (mh - height) / 2;
  }
  return {.frame = frame.size,
          .model = model.size,
          .scale_x = static_cast<float>(frame.size.width / width),
          .scale_y = static_cast<float>(frame.size.height / height),
          .pad_x = static_cast<float>(pad_x),
          .pad_y = static_cast<float>(pad_y)};
}

/// The part of the box inside a picture of that size.
inline Box clip(Box b, Size size) {
  const auto w = static_cast<float>(size.width), h = static_cast<float>(size.height);
  return {std::clamp(b.x1, 0.0f, w), std::clamp(b.y1, 0.0f, h), std::clamp(b.x2, 0.0f, w),
          std::clamp(b.y2, 0.0f, h)};
}

/// A box without area, which clipping leaves of one outside the picture.
inline bool is_empty(Box b) { return !(b.x2 > b.x1 && b.y2 > b.y1); }

}  // namespace keepbox
