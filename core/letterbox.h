// SPDX-License-Identifier: LGPL-2.1-or-later
// Between a frame and the model's input: how a picture was resized, and the way back.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/box.h"

namespace keepbox {

/// How a frame was fitted into the model's input.
enum class ResizeMode : uint8_t {
  kStretch,             // each axis on its own, nothing padded
  kLetterboxCenter,     // aspect kept, padded equally on both sides
  kLetterboxTopLeft,    // aspect kept, padded at the right or the bottom (YOLOX, nvinfer)
  kLetterboxScaler,     // as videoconvertscale with add-borders=true, to the pixel: as centred, the
                        // picture and its place rounded down to whole pixels
};

struct Size {
  uint32_t width = 0, height = 0;
  friend constexpr bool operator==(Size, Size) = default;
};

/// A picture's size in pixels and the shape of one pixel.
struct Picture {
  Size size;
  uint32_t par_n = 1, par_d = 1;  // pixel aspect ratio
  Size chroma{1, 1};              // pixels that share one chroma sample: 2x2 of I420
};

/// The affine map between the two, one axis at a time: frame = (model - pad) * scale.
struct Letterbox {
  Size frame, model;
  float scale_x = 1, scale_y = 1;  // frame pixels per model pixel
  float pad_x = 0, pad_y = 0;      // model pixels left of and above the picture

  /// 1 / the model's sides.
  float per_pixel_x() const { return 1.0f / static_cast<float>(std::max(model.width, 1u)); }
  float per_pixel_y() const { return 1.0f / static_cast<float>(std::max(model.height, 1u)); }

  KB_HD Box to_frame(Box b) const {
    return {(b.x1 - pad_x) * scale_x, (b.y1 - pad_y) * scale_y, (b.x2 - pad_x) * scale_x,
            (b.y2 - pad_y) * scale_y};
  }
  Box to_model(Box b) const {
    return {b.x1 / scale_x + pad_x, b.y1 / scale_y + pad_y, b.x2 / scale_x + pad_x,
            b.y2 / scale_y + pad_y};
  }

  friend constexpr bool operator==(const Letterbox&, const Letterbox&) = default;
};

/// The map for a frame resized into a model's input. @pre no size and no pixel aspect ratio is 0.
Letterbox make_letterbox(Picture frame, Picture model, ResizeMode mode);

/// The same with boxes taken on to a picture that the frame was scaled or moved to: x' = x * scale + dx,
/// and so for y. @pre scales are above 0.
Letterbox moved(const Letterbox& from, Size to, double scale_x, double scale_y, double dx = 0,
                double dy = 0);

/// The same with boxes taken on to the frame scaled to that size. @pre neither frame is empty.
Letterbox scaled_to(const Letterbox& from, Size to);

/// The part of the box inside a picture of that size.
KB_HD inline Box clip(Box b, Size size) {
  const auto within = [](float value, float most) {
    return value < 0.0f ? 0.0f : most < value ? most : value;
  };
  const auto w = static_cast<float>(size.width), h = static_cast<float>(size.height);
  return {within(b.x1, w), within(b.y1, h), within(b.x2, w), within(b.y2, h)};
}

/// A box without area, which clipping leaves of one outside the picture.
KB_HD inline bool is_empty(Box b) { return !(b.x2 > b.x1 && b.y2 > b.y1); }

}  // namespace keepbox
