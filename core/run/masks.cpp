// SPDX-License-Identifier: LGPL-2.1-or-later
// Rectangles of masks, and their enlargement to frame resolution.
#include "core/run/masks.h"
#include "core/formula/mask.h"

#include <algorithm>
#include <cmath>

#include "core/plan/plan.h"
#include "core/run/payload_stage.h"

namespace keepbox {
namespace {

/// Scale from model input pixels to prototype pixels.
struct Scale {
  float x, y;
};

Scale scale_of(const Plan& plan) {
  const Size maps = plan.payload.masks.maps;
  return {static_cast<float>(maps.width) * plan.letterbox.per_pixel_x(),
          static_cast<float>(maps.height) * plan.letterbox.per_pixel_y()};
}

/// Integers from `low` to `high`, within 0 .. `end`.
struct PixelRange {
  uint32_t first, count;
};
PixelRange whole(float low, float high, uint32_t end) {
  const auto within = [&](float at) {
    return static_cast<uint32_t>(std::clamp(at, 0.0f, static_cast<float>(end)));
  };
  const uint32_t first = within(std::ceil(low)), last = within(std::ceil(high));
  return {first, last > first ? last - first : 0};
}

/// Interpolation taps of frame pixels along an axis: the two nearest prototype pixels, and the
/// distance from the first.
struct Taps {
  std::vector<uint32_t> low, high;  // relative to the rectangle's first pixel
  std::vector<float> part;

  Taps(PixelRange pixels, float scale, float pad, float per_model, uint32_t first, uint32_t count,
       uint32_t end) {
    for (uint32_t i = 0; i < pixels.count; ++i) {
      const float centre = static_cast<float>(pixels.first + i) + 0.5f;
      const float at =
          std::clamp((centre / scale + pad) * per_model - 0.5f, 0.0f, static_cast<float>(end - 1));
      const auto floor = static_cast<uint32_t>(at);
      const auto own = [&](uint32_t pixel) {
        return std::clamp(pixel, first, first + count - 1) - first;
      };
      low.push_back(own(floor));
      high.push_back(own(floor + 1));
      part.push_back(at - static_cast<float>(floor));
    }
  }
};

/// Interpolates bilinearly and thresholds at 0, like Ultralytics' retina_masks.
void enlarge(const float* numbers, const MaskPlace& place, const Taps& x, const Taps& y,
             uint8_t* out) {
  std::vector<float> between(place.width);  // interpolated between two rows
  for (size_t row = 0; row < y.low.size(); ++row) {
    const float* upper = numbers + size_t{y.low[row]} * place.width;
    const float* lower = numbers + size_t{y.high[row]} * place.width;
    for (size_t i = 0; i < between.size(); ++i)
      between[i] = upper[i] + (lower[i] - upper[i]) * y.part[row];
    for (size_t column = 0; column < x.low.size(); ++column) {
      const float left = between[x.low[column]], right = between[x.high[column]];
      *out++ = left + (right - left) * x.part[column] > 0 ? 1 : 0;
    }
  }
}

/// Maximum pixels of all masks of an image, in either resolution: offsets fit in 32 bits, and
/// memory is bounded even for noise.
constexpr size_t kMaxPixels = size_t{1} << 30;

PixelRange columns_of(const Box& box, Size frame) { return whole(box.x1, box.x2, frame.width); }
PixelRange rows_of(const Box& box, Size frame) { return whole(box.y1, box.y2, frame.height); }

/// Returns the number of frame pixels of a box's mask; 0 if it has no rectangle.
size_t enlarged_pixels(const Plan& plan, const Detection& detection, const MaskPlace& place) {
  const Size frame = plan.letterbox.frame;
  if (place.count() == 0) return 0;
  return size_t{columns_of(detection.box, frame).count} * rows_of(detection.box, frame).count;
}

/// @param pixels buffer for the mask.
void add_enlarged(const Plan& plan, const Letterbox& way, const Detection& detection,
                  const MaskPlace& place, const float* numbers, uint8_t* pixels, Mask& out) {
  const Size maps = plan.payload.masks.maps;
  const Scale scale = scale_of(plan);
  const PixelRange columns = columns_of(detection.box, way.frame);
  const PixelRange rows = rows_of(detection.box, way.frame);
  if (place.count() == 0) return;
  out.pixels = pixels;
  out.width = columns.count;
  out.height = rows.count;
  out.place = {static_cast<float>(columns.first), static_cast<float>(rows.first),
               static_cast<float>(columns.first + columns.count),
               static_cast<float>(rows.first + rows.count)};
  enlarge(numbers + place.offset, place,
          Taps(columns, way.scale_x, way.pad_x, scale.x, place.x, place.width, maps.width),
          Taps(rows, way.scale_y, way.pad_y, scale.y, place.y, place.height, maps.height), pixels);
}

/// Returns the rectangle of a box in the prototypes, without its offset.
MaskPlace place_for(const Plan& plan, const Letterbox& way, const Box& on_frame,
                    const Scale& scale) {
  const MaskRules& rules = plan.payload.masks;
  const float margin = rules.enlarged ? 1.5f : 0.0f;  // pixels needed for bilinear interpolation
  const Box box = way.to_model(on_frame);
  const PixelRange columns =
      whole(box.x1 * scale.x - margin, box.x2 * scale.x + margin, rules.maps.width);
  const PixelRange rows =
      whole(box.y1 * scale.y - margin, box.y2 * scale.y + margin, rules.maps.height);
  return {columns.first, rows.first, columns.count, rows.count};
}

}  // namespace

size_t place_masks(const Plan& plan, uint32_t image, std::span<const Detection> detections,
                   std::vector<MaskPlace>& out) {
  const Letterbox& way = plan.letterbox_of(image);
  const Scale scale = scale_of(plan);
  size_t pixels = 0, enlarged = 0;
  out.clear();
  for (const Detection& each : detections) {
    MaskPlace place = place_for(plan, way, each.box, scale);
    const size_t whole_frame = plan.payload.masks.enlarged
                                   ? size_t{columns_of(each.box, plan.letterbox.frame).count} *
                                         rows_of(each.box, plan.letterbox.frame).count
                                   : 0;
    if (pixels + place.count() > kMaxPixels || enlarged + whole_frame > kMaxPixels) place = {};
    else enlarged += whole_frame;
    place.offset = static_cast<uint32_t>(pixels);
    pixels += place.count();
    out.push_back(place);
  }
  return pixels;
}

Status finish_masks(const Plan& plan, uint32_t image, std::span<const Detection> detections,
                    std::span<const MaskPlace> places, const MaskOutput& made,
                    ScratchBuffer<uint8_t>& pixels, std::vector<Mask>& out) {
  const Scale scale = scale_of(plan);
  const Letterbox& way = plan.letterbox_of(image);
  out.clear();
  size_t enlarged = 0;
  for (size_t i = 0; made.numbers != nullptr && i < places.size(); ++i)
    enlarged += enlarged_pixels(plan, detections[i], places[i]);
  KB_TRY(pixels.grow(enlarged, "set mask-size=prototypes, or lower max-detections"));
  out.resize(places.size());
  uint8_t* next = pixels.data();
  for (size_t i = 0; i < places.size(); ++i) {
    const MaskPlace& at = places[i];
    if (made.numbers != nullptr) {
      add_enlarged(plan, way, detections[i], at, made.numbers, next, out[i]);
      next += enlarged_pixels(plan, detections[i], at);
      continue;
    }
    const auto edge = [](uint32_t pixel, float by) { return static_cast<float>(pixel) / by; };
    out[i] = {made.inside + at.offset, at.width, at.height,
              way.to_frame({edge(at.x, scale.x), edge(at.y, scale.y),
                            edge(at.x + at.width, scale.x), edge(at.y + at.height, scale.y)})};
  }
  return {};
}

}  // namespace keepbox
