// SPDX-License-Identifier: LGPL-2.1-or-later
// Maps coordinates between a frame and the model input.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/formula/box.h"

namespace keepbox {

/// Methods to fit a frame into the model input.
enum class ResizeMode : uint8_t {
  kStretch,           // each axis scaled independently, no padding
  kLetterboxCenter,   // aspect ratio kept, padded equally on both sides
  kLetterboxTopLeft,  // aspect ratio kept, padded at the right or bottom (YOLOX, nvinfer)
  kLetterboxScaler,   // as videoconvertscale with add-borders=true: centred, with size and
                      // position rounded down to whole pixels
  kCrop,              // aspect ratio kept, scaled to fill the input, then cropped about the centre
};

struct Size {
  uint32_t width = 0, height = 0;
  friend constexpr bool operator==(Size, Size) = default;
};

/// Size of a picture in pixels, and the shape of a pixel.
struct Picture {
  Size size;
  uint32_t par_n = 1, par_d = 1;  // pixel aspect ratio
  Size chroma{1, 1};              // pixels per chroma sample: 2x2 for I420
};

/// Rectangle of the whole picture in model pixels; larger than the model input if it is cropped.
struct FittedRect {
  double x = 0, y = 0, width = 0, height = 0;
};

/// Rectangle of a model input in whole pixels.
struct PixelRect {
  uint32_t x = 0, y = 0, width = 0, height = 0;
};

/// Returns the size in whole pixels, at least one, of a picture that is fitted into an input with
/// its aspect ratio kept. @param width, height of the picture, in pixels of the input's shape.
/// @param rounded sides are rounded, ties to even, as by Ultralytics; else down, as by YOLOX.
Size fitted_size(double width, double height, Size input, bool rounded);

/// Returns the place of a picture in the middle of an input, whose padding after the picture is
/// larger by one pixel if it is odd. @pre the picture is not larger than the input.
PixelRect centred(Size picture, Size input);

/// Returns the rectangle that ResizeMode::kCrop cuts the model input from. As torchvision's Resize
/// and CenterCrop do, it rounds sides down, and the position to the nearest pixel, ties to even.
FittedRect filled(const Picture& frame, const Picture& model);

/// Affine map between frame and model input, per axis: frame = (model - pad) * scale.
struct Letterbox {
  Size frame, model;
  float scale_x = 1, scale_y = 1;  // frame pixels per model pixel
  float pad_x = 0, pad_y = 0;  // model pixels left of and above the picture; negative if cropped

  /// Return the reciprocals of the model input's sides.
  float per_pixel_x() const { return 1.0f / static_cast<float>(std::max(model.width, 1u)); }
  float per_pixel_y() const { return 1.0f / static_cast<float>(std::max(model.height, 1u)); }

  KB_HD Box to_frame(Box b) const {
    return {(b.x1 - pad_x) * scale_x, (b.y1 - pad_y) * scale_y, (b.x2 - pad_x) * scale_x,
            (b.y2 - pad_y) * scale_y};
  }
  KB_HD Box to_model(Box b) const {
    return {on_model(b.x1, scale_x, pad_x), on_model(b.y1, scale_y, pad_y),
            on_model(b.x2, scale_x, pad_x), on_model(b.y2, scale_y, pad_y)};
  }
  /// Returns the position on the model input of one on the frame, along an axis.
  KB_HD static float on_model(float at, float scale, float pad) { return at / scale + pad; }

  friend constexpr bool operator==(const Letterbox&, const Letterbox&) = default;
};

/// Returns the map to a model input in which the whole picture is at that rectangle.
Letterbox letterbox_at(const FittedRect& place, Size frame, Size model);

/// Returns the map for a frame resized to a model input. @pre all sizes and aspect ratios are
/// non-zero.
Letterbox make_letterbox(Picture frame, Picture model, ResizeMode mode);

/// Returns the map to a picture that the frame was scaled and moved to: x' = x * scale_x + dx, and
/// likewise for y. @pre scales are positive.
Letterbox moved(const Letterbox& from, Size to, double scale_x, double scale_y, double dx = 0,
                double dy = 0);

/// Returns the map to the frame scaled to that size. @pre neither frame is empty.
Letterbox scaled_to(const Letterbox& from, Size to);

/// Clips the box to a picture of that size.
KB_HD inline Box clip(Box b, Size size) {
  const auto within = [](float value, float limit) {
    return value < 0.0f ? 0.0f : limit < value ? limit : value;
  };
  const auto w = static_cast<float>(size.width), h = static_cast<float>(size.height);
  return {within(b.x1, w), within(b.y1, h), within(b.x2, w), within(b.y2, h)};
}

/// True if the box has no area, as after clipping a box outside of the picture.
KB_HD inline bool is_empty(Box b) { return !(b.x2 > b.x1 && b.y2 > b.y1); }

}  // namespace keepbox
