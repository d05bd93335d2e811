// SPDX-License-Identifier: LGPL-2.1-or-later
// Rectangles of masks in the prototypes and on the frame.
#include "core/run/masks.h"

#include <algorithm>
#include <cmath>

#include "core/plan/plan.h"

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

MaskPlace place_in(const Box& box, Size end) {
  const PixelRange columns = whole(box.x1, box.x2, end.width);
  const PixelRange rows = whole(box.y1, box.y2, end.height);
  return {columns.first, rows.first, columns.count, rows.count};
}

/// Maximum pixels of all masks of an image, in either resolution: offsets fit in 32 bits, and
/// memory is bounded even for noise.
constexpr size_t kMaxPixels = size_t{1} << 30;
/// Maximum words of all masks of an image; a narrow mask has one per row.
constexpr size_t kMaxWords = size_t{1} << 28;

/// Returns the rectangle of a box in the prototypes, without its offset.
MaskPlace place_for(const Plan& plan, const Letterbox& way, const Box& on_frame,
                    const Scale& scale) {
  const MaskRules& rules = plan.payload.masks;
  const float margin = rules.enlarged ? 1.5f : 0.0f;  // pixels needed for bilinear interpolation
  const Box box = way.to_model(on_frame);
  return place_in({box.x1 * scale.x - margin, box.y1 * scale.y - margin, box.x2 * scale.x + margin,
                   box.y2 * scale.y + margin},
                  rules.maps);
}

size_t pixels_of(const MaskPlace& place) { return size_t{place.width} * place.height; }

/// Adds rectangles, with their offsets.
class Placer {
 public:
  explicit Placer(MaskPlaces& out) : out_(out) { out_.clear(); }

  void add_bits(MaskPlace place) {
    if (!fits(place)) place = {};
    if (pixels_of(place) == 0) place.width = place.height = 0;
    bits_ += pixels_of(place);
    put_bits(place);
  }

  /// Adds a mask that is enlarged from sums; an empty one if either is empty or too large.
  void add_enlarged(MaskPlace sums, MaskPlace bits) {
    if (out_.numbers + pixels_of(sums) > kMaxPixels || !fits(bits) || pixels_of(sums) == 0 ||
        pixels_of(bits) == 0)
      sums = bits = {};
    bits_ += pixels_of(bits);
    sums.offset = static_cast<uint32_t>(out_.numbers);
    out_.numbers += pixels_of(sums);
    out_.sums.push_back(sums);
    put_bits(bits);
  }

 private:
  bool fits(const MaskPlace& bits) const {
    return bits_ + pixels_of(bits) <= kMaxPixels &&
           out_.words + size_t{bits.words()} * bits.height <= kMaxWords;
  }
  void put_bits(MaskPlace place) {
    place.offset = static_cast<uint32_t>(out_.words);
    out_.words += size_t{place.words()} * place.height;
    out_.bits.push_back(place);
  }

  MaskPlaces& out_;
  size_t bits_ = 0;  // pixels
};

}  // namespace

void MaskPlaces::clear() {
  bits.clear();
  sums.clear();
  words = numbers = 0;
}

void place_masks(const Plan& plan, uint32_t image, std::span<const Detection> detections,
                 MaskPlaces& out) {
  const Letterbox& way = plan.letterbox_of(image);
  const Scale scale = scale_of(plan);
  Placer placer(out);
  for (const Detection& each : detections) {
    const MaskPlace in_maps = place_for(plan, way, each.box, scale);
    if (plan.payload.masks.enlarged) placer.add_enlarged(in_maps, place_in(each.box, way.frame));
    else placer.add_bits(in_maps);
  }
}

MaskAxis mask_columns(const Plan& plan, uint32_t image) {
  const Letterbox& way = plan.letterbox_of(image);
  return {way.scale_x, way.pad_x, scale_of(plan).x, plan.payload.masks.maps.width};
}

MaskAxis mask_rows(const Plan& plan, uint32_t image) {
  const Letterbox& way = plan.letterbox_of(image);
  return {way.scale_y, way.pad_y, scale_of(plan).y, plan.payload.masks.maps.height};
}

Mask placed_mask(const Plan& plan, uint32_t image, const MaskPlace& place, const uint32_t* bits) {
  Mask out{bits + place.offset, place.words(), place.x % kWordPixels, place.width, place.height};
  const auto edge = [](uint32_t pixel, float by) { return static_cast<float>(pixel) / by; };
  const bool enlarged = plan.payload.masks.enlarged;
  const Scale scale = enlarged ? Scale{1, 1} : scale_of(plan);
  const Box area{edge(place.x, scale.x), edge(place.y, scale.y),
                 edge(place.x + place.width, scale.x), edge(place.y + place.height, scale.y)};
  out.place = enlarged ? area : plan.letterbox_of(image).to_frame(area);
  return out;
}

}  // namespace keepbox
