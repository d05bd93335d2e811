// SPDX-License-Identifier: LGPL-2.1-or-later
// Rectangles of masks in the prototypes and on the frame.
#include "core/run/masks.h"

#include <algorithm>

#include "core/plan/plan.h"

namespace keepbox {
namespace {

/// Maximum pixels of all masks of an image, in either resolution: offsets fit in 32 bits, and
/// memory is bounded even for noise.
constexpr size_t kMaxPixels = size_t{1} << 30;
/// Maximum words of all masks of an image; a narrow mask has one per row.
constexpr size_t kMaxWords = size_t{1} << 28;

size_t area_of(const MaskPlace& place) { return size_t{place.width} * place.height; }

/// Prototype pixels around a box that bilinear interpolation reads.
constexpr float kInterpolated = 1.5f;

/// Adds rectangles, with their offsets.
class Placer {
 public:
  explicit Placer(MaskPlaces& out) : out_(out) { out_.clear(); }

  void add_bits(MaskPlace place) {
    if (!fits(place)) place = {};
    if (area_of(place) == 0) place.width = place.height = 0;
    bits_ += area_of(place);
    put_bits(place);
  }

  /// Adds a mask that is enlarged from sums; an empty one if either is empty or too large.
  void add_enlarged(MaskPlace sums, MaskPlace bits) {
    if (out_.numbers + area_of(sums) > kMaxPixels || !fits(bits) || area_of(sums) == 0 ||
        area_of(bits) == 0)
      sums = bits = {};
    bits_ += area_of(bits);
    sums.offset = static_cast<uint32_t>(out_.numbers);
    out_.numbers += area_of(sums);
    out_.sums.push_back(sums);
    put_bits(bits);
  }

 private:
  bool fits(const MaskPlace& bits) const {
    return bits_ + area_of(bits) <= kMaxPixels &&
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

MaskScale mask_scale(const Plan& plan) {
  const Size maps = plan.payload.masks.maps;
  return {static_cast<float>(maps.width) * plan.letterbox.per_pixel_x(),
          static_cast<float>(maps.height) * plan.letterbox.per_pixel_y()};
}

void MaskPlaces::clear() {
  bits.clear();
  sums.clear();
  words = numbers = 0;
}

void place_masks(const Plan& plan, uint32_t image, std::span<const Detection> detections,
                 MaskPlaces& out) {
  const Letterbox& way = plan.letterbox_of(image);
  const MaskScale scale = mask_scale(plan);
  const MaskRules& rules = plan.payload.masks;
  const float margin = rules.enlarged ? kInterpolated : 0.0f;
  Placer placer(out);
  for (const Detection& each : detections) {
    const MaskPlace in_maps = prototype_pixels(each.box, way, scale, rules.maps, margin);
    if (rules.enlarged) placer.add_enlarged(in_maps, covered_pixels(each.box, way.frame));
    else placer.add_bits(in_maps);
  }
}

MaskAxis mask_columns(const Plan& plan, uint32_t image) {
  const Letterbox& way = plan.letterbox_of(image);
  return {way.scale_x, way.pad_x, mask_scale(plan).x, plan.payload.masks.maps.width};
}

MaskAxis mask_rows(const Plan& plan, uint32_t image) {
  const Letterbox& way = plan.letterbox_of(image);
  return {way.scale_y, way.pad_y, mask_scale(plan).y, plan.payload.masks.maps.height};
}

Mask placed_mask(const Plan& plan, uint32_t image, const MaskPlace& place, const uint32_t* bits) {
  Mask out{bits + place.offset, place.words(), place.x % kWordPixels, place.width, place.height};
  const auto edge = [](uint32_t pixel, float by) { return static_cast<float>(pixel) / by; };
  const bool enlarged = plan.payload.masks.enlarged;
  const MaskScale scale = enlarged ? MaskScale{1, 1} : mask_scale(plan);
  const Box area{edge(place.x, scale.x), edge(place.y, scale.y),
                 edge(place.x + place.width, scale.x), edge(place.y + place.height, scale.y)};
  out.place = enlarged ? area : plan.letterbox_of(image).to_frame(area);
  return out;
}

}  // namespace keepbox
