// SPDX-License-Identifier: LGPL-2.1-or-later
// Maps boxes and masks from the images of objects.
#include "gst/decode/objectimage.h"

#include <algorithm>
#include <cmath>

#include "core/formula/oriented.h"

namespace keepbox {
namespace {

using Point = PixelMap::Point;

/// Returns the distance in the frame between neighbouring pixels of the input.
Point step(const Point& from, const Point& to, uint32_t pixels) {
  return {(to.x - from.x) / pixels, (to.y - from.y) / pixels};
}

/// Returns a number of pixels, at least 1 and few enough for their coordinates to be exact floats.
uint32_t round_to_pixels(double length) {
  return static_cast<uint32_t>(std::clamp(std::ceil(length), 1.0, double{1 << 24}));
}

/// Returns the pixel size of a rotated mask: the mask's own, or a larger one if the area would have
/// too many pixels, as for a mask with long and narrow pixels.
double side_of(const Mask& mask, double own, const Box& area) {
  constexpr double kFew = 1 << 16, kMany = 1 << 28;
  const double max_pixels = std::clamp(4.0 * mask.width * mask.height, kFew, kMany);
  const double size = (double{area.x2} - area.x1) * (double{area.y2} - area.y1);
  return std::max(own, std::sqrt(size / max_pixels));
}

bool keeps_axes(const PixelMap& map) {
  const auto& m = map.rows();
  return (m[1] == 0 && m[3] == 0) || (m[0] == 0 && m[4] == 0);
}

/// Returns an upright box mapped to an oriented one.
OrientedBox turned(const Box& box, const PixelMap& turn) {
  const auto& m = turn.rows();
  const double width = double{box.x2} - box.x1, height = double{box.y2} - box.y1;
  const Point center = turn.point((double{box.x1} + box.x2) / 2, (double{box.y1} + box.y2) / 2);
  const Sides sides = sides_of(static_cast<float>(m[0] * width), static_cast<float>(m[3] * width),
                               static_cast<float>(m[1] * height), static_cast<float>(m[4] * height),
                               width >= height);
  const double x = sides.width / 2.0, y = sides.height / 2.0;
  return {{static_cast<float>(center.x - x), static_cast<float>(center.y - y),
           static_cast<float>(center.x + x), static_cast<float>(center.y + y)},
          sides.angle};
}

/// Returns the box enlarged to whole pixels.
Box whole(const Box& box) {
  return {std::floor(box.x1), std::floor(box.y1), std::ceil(box.x2), std::ceil(box.y2)};
}

}  // namespace

std::optional<ObjectImage> object_image(const PictureRecord& record, Size input, Size picture,
                                        Size frame) {
  const double x = double{1} * frame.width / picture.width;
  const double y = double{1} * frame.height / picture.height;
  const auto on_frame = [&](const CropPoint& at) { return Point{at.x * x, at.y * y}; };
  const Point origin = on_frame(record.origin);
  const Point across = step(origin, on_frame(record.right), input.width);
  const Point down = step(origin, on_frame(record.down), input.height);
  const double u = std::hypot(across.x, across.y), v = std::hypot(down.x, down.y);
  if (!(u > 0 && v > 0) || !std::isfinite(u + v + origin.x + origin.y)) return std::nullopt;
  ObjectImage out{.od_id = record.od_id, .image = record.image};
  if (across.y == 0 && down.x == 0 && across.x > 0 && down.y > 0) {
    out.letterbox = {frame,
                     input,
                     static_cast<float>(u),
                     static_cast<float>(v),
                     static_cast<float>(-origin.x / u),
                     static_cast<float>(-origin.y / v)};
    return out;
  }
  const Size upright{round_to_pixels(input.width * u), round_to_pixels(input.height * v)};
  out.letterbox = {upright, input, static_cast<float>(u), static_cast<float>(v), 0, 0};
  out.turn =
      PixelMap({across.x / u, down.x / v, origin.x, across.y / u, down.y / v, origin.y, 0, 0, 1});
  return out;
}

bool turn_box(FrameBox& box, const PixelMap& turn, Size frame) {
  if (box.angle != 0) {
    const OrientedBox to = turn(OrientedBox{box.box, box.angle});
    box.box = to.box, box.angle = to.angle;
  } else if (keeps_axes(turn)) {
    box.box = clip(turn(box.box), frame);
  } else {
    const OrientedBox to = turned(box.box, turn);
    box.box = to.box, box.angle = to.angle;
  }
  return !is_empty(clip(around({box.box, box.angle}), frame));
}

Mask turned_mask(const Mask& mask, const PixelMap& turn, Size frame, std::vector<uint32_t>& words) {
  const auto back = turn.inverse();
  const Box& was = mask.place;
  if (mask.width == 0 || mask.height == 0 || !back) return {};
  const double x = (double{was.x2} - was.x1) / mask.width;  // a pixel of the mask in the frame
  const double y = (double{was.y2} - was.y1) / mask.height;
  Mask out{.place = clip(whole(turn(was)), frame)};
  const Box& place = out.place;
  if (is_empty(place) || !(x > 0 && y > 0)) return {};
  const double side = side_of(mask, std::min(x, y), place);
  const auto count = [side](float low, float high) {
    return round_to_pixels((double{high} - low) / side - 1e-3);  // rounding of side
  };
  out.width = count(place.x1, place.x2), out.height = count(place.y1, place.y2);
  out.stride = (out.width + kWordPixels - 1) / kWordPixels;
  words.assign(size_t{out.stride} * out.height, 0);
  out.bits = words.data();
  for (uint32_t row = 0; row < out.height; ++row)
    for (uint32_t column = 0; column < out.width; ++column) {
      const Point from = back->point(place.x1 + (column + 0.5) * (place.x2 - place.x1) / out.width,
                                     place.y1 + (row + 0.5) * (place.y2 - place.y1) / out.height);
      const double u = (from.x - was.x1) / x, v = (from.y - was.y1) / y;
      if (u >= 0 && v >= 0 && u < mask.width && v < mask.height &&
          mask.at(static_cast<uint32_t>(u), static_cast<uint32_t>(v)))
        words[size_t{row} * out.stride + column / kWordPixels] |= 1u << column % kWordPixels;
    }
  return out;
}

}  // namespace keepbox
