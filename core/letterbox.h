// SPDX-License-Identifier: LGPL-2.1-or-later
// Between a frame and the model's input: how a picture was resized, and the way back.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/box.h"

namespace keepbox {

/// How a frame was fitted into the model's input.
enum class ResizeMode : uint8_t {
  kStretch,            // each axis on its own, nothing padded
  kLetterboxCenter,    // aspect kept, padded on both sides (videoconvertscale add-borders)
  kLetterboxTopLeft,   // aspect kept, padded at the right or the bottom (YOLOX, nvinfer)
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

  Box to_frame(Box b) const {
    return {(b.x1 - pad_x) * scale_x, (b.y1 - pad_y) * scale_y, (b.x2 - pad_x) * scale_x,
            (b.y2 - pad_y) * scale_y};
  }
  Box to_model(Box b) const {
    return {b.x1 / scale_x + pad_x, b.y1 / scale_y + pad_y, b.x2 / scale_x + pad_x,
            b.y2 / scale_y + pad_y};
  }
};

/// The map for a frame resized into a model's input. Padding is in whole pixels, rounded as
/// videoconvertscale rounds it. @pre no size and no pixel aspect ratio is zero.
inline Letterbox make_letterbox(Picture frame, Picture model, ResizeMode mode) {
  Letterbox box{.frame = frame.size, .model = model.size};
  const auto [mw, mh] = model.size;
  uint64_t width = mw, height = mh;
  if (mode != ResizeMode::kStretch) {
    // The picture's display aspect ratio in the model's pixels, as num : den.
    const uint64_t num = uint64_t{frame.size.width} * frame.par_n * model.par_d;
    const uint64_t den = uint64_t{frame.size.height} * frame.par_d * model.par_n;
    height = std::max<uint64_t>(1, mw * den / num);
    if (height > mh) {
      height = mh;
      width = std::max<uint64_t>(1, mh * num / den);
    }
    if (mode == ResizeMode::kLetterboxCenter) {
      box.pad_x = static_cast<float>((mw - width) / 2);
      box.pad_y = static_cast<float>((mh - height) / 2);
    }
  }
  box.scale_x = static_cast<float>(frame.size.width) / static_cast<float>(width);
  box.scale_y = static_cast<float>(frame.size.height) / static_cast<float>(height);
  return box;
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
