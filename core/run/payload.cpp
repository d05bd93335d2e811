// SPDX-License-Identifier: LGPL-2.1-or-later
// Payloads of kept boxes on the host, and masks in frame pixels.
#include "core/run/payload.h"

#include "core/plan/plan.h"

namespace keepbox {

void PayloadStage::clear() {
  values_ = {};
  masks_.clear();
}

void PayloadStage::run(const Plan& plan, uint32_t image, const PayloadOutput& output) {
  clear();
  for (const MaskRect& place : output.places)
    masks_.push_back(placed_mask(plan, image, place, output.bits));
  values_ = output.values;
}

namespace {

/// Maximum pixels of all masks of an image, in either resolution: offsets fit in 32 bits, and
/// memory is bounded even for noise.
constexpr size_t kMaxPixels = size_t{1} << 30;
/// Maximum words of all masks of an image; a narrow mask has one per row.
constexpr size_t kMaxWords = size_t{1} << 28;

size_t area_of(const MaskRect& place) { return size_t{place.width} * place.height; }

/// Prototype pixels around a box that bilinear interpolation reads.
constexpr float kInterpolated = 1.5f;

/// Adds rectangles, with their offsets.
class Placer {
 public:
  explicit Placer(MaskRects& out) : out_(out) { out_.clear(); }

  void add_bits(MaskRect place) {
    if (!fits(place)) place = {};
    if (area_of(place) == 0) place.width = place.height = 0;
    bits_ += area_of(place);
    put_bits(place);
  }

  /// Adds a mask that is enlarged from sums; an empty one if either is empty or too large.
  void add_enlarged(MaskRect sums, MaskRect bits) {
    if (out_.sum_count + area_of(sums) > kMaxPixels || !fits(bits) || area_of(sums) == 0 ||
        area_of(bits) == 0)
      sums = bits = {};
    bits_ += area_of(bits);
    sums.offset = static_cast<uint32_t>(out_.sum_count);
    out_.sum_count += area_of(sums);
    out_.sums.push_back(sums);
    put_bits(bits);
  }

 private:
  bool fits(const MaskRect& bits) const {
    return bits_ + area_of(bits) <= kMaxPixels &&
           out_.words + size_t{bits.words()} * bits.height <= kMaxWords;
  }
  void put_bits(MaskRect place) {
    place.offset = static_cast<uint32_t>(out_.words);
    out_.words += size_t{place.words()} * place.height;
    out_.bits.push_back(place);
  }

  MaskRects& out_;
  size_t bits_ = 0;  // pixels
};

}  // namespace

MaskScale mask_scale(const Plan& plan) {
  const Size maps = plan.payload.masks.maps;
  return {static_cast<float>(maps.width) * plan.letterbox.per_pixel_x(),
          static_cast<float>(maps.height) * plan.letterbox.per_pixel_y()};
}

void MaskRects::clear() {
  bits.clear();
  sums.clear();
  words = sum_count = 0;
}

void place_masks(const Plan& plan, uint32_t image, std::span<const Detection> detections,
                 MaskRects& out) {
  const Letterbox& letterbox = plan.letterbox_of(image);
  const MaskScale scale = mask_scale(plan);
  const MaskRules& rules = plan.payload.masks;
  const float margin = rules.enlarged ? kInterpolated : 0.0f;
  Placer placer(out);
  for (const Detection& each : detections) {
    const MaskRect in_maps = prototype_pixels(each.box, letterbox, scale, rules.maps, margin);
    if (rules.enlarged) placer.add_enlarged(in_maps, covered_pixels(each.box, letterbox.frame));
    else placer.add_bits(in_maps);
  }
}

MaskAxis mask_columns(const Plan& plan, uint32_t image) {
  const Letterbox& letterbox = plan.letterbox_of(image);
  return {letterbox.scale_x, letterbox.pad_x, mask_scale(plan).x, plan.payload.masks.maps.width};
}

MaskAxis mask_rows(const Plan& plan, uint32_t image) {
  const Letterbox& letterbox = plan.letterbox_of(image);
  return {letterbox.scale_y, letterbox.pad_y, mask_scale(plan).y, plan.payload.masks.maps.height};
}

Mask placed_mask(const Plan& plan, uint32_t image, const MaskRect& place, const uint32_t* bits) {
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
