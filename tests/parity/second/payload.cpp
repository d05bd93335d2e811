// SPDX-License-Identifier: LGPL-2.1-or-later
// Keypoints and masks of the second implementation: whole prototypes summed, then cropped.
#include <algorithm>
#include <cmath>

#include "tests/parity/second/second.h"

namespace keepbox::test {
namespace {

/// Reads a value of an anchor, segment by segment.
struct Numbers {
  const Plan& plan;
  std::span<const TensorView> tensors;
  uint32_t image;

  float operator()(FieldId part, uint32_t anchor, uint32_t channel) const {
    for (const Segment& each : plan.layout.segments)
      if (anchor >= each.first && anchor - each.first < each.count)
        return load(tensors[size_t(each[part].tensor)],
                    each[part].at(image, anchor - each.first, channel));
    return 0;
  }
};

struct Place {
  float x, y, stride;
};

Place cell(const Plan& plan, uint32_t anchor) {
  const Level* level = &plan.levels[0];
  for (const Level& each : plan.levels)
    if (anchor >= each.first_anchor) level = &each;
  const uint32_t number = (anchor - level->first_anchor) / level->cell_anchors;
  const float offset = plan.rules.boxes.cell_offset;
  return {float(number % level->width) + offset, float(number / level->width) + offset,
          level->stride};
}

/// Decodes CenterFace's box: y first, offsets and sizes.
Box face(const Plan& plan, const Numbers& numbers, uint32_t anchor) {
  const Place at = cell(plan, anchor);
  const float cx = (numbers(FieldId::kBox, anchor, 1) + at.x) * at.stride;
  const float cy = (numbers(FieldId::kBox, anchor, 0) + at.y) * at.stride;
  const float w = exp_f32(numbers(FieldId::kSizes, anchor, 1)) * at.stride * 0.5f;
  const float h = exp_f32(numbers(FieldId::kSizes, anchor, 0)) * at.stride * 0.5f;
  return {cx - w, cy - h, cx + w, cy + h};
}

Keypoint placed(const Plan& plan, const Numbers& numbers, uint32_t anchor, Keypoint p) {
  const BoxRules& boxes = plan.rules.boxes;
  const PointCoding coding = plan.payload.keypoints.coding;
  if (coding == PointCoding::kBox || is_planted(Bug::kPointsPlain))
    return {p.x * boxes.unit_x, p.y * boxes.unit_y, p.score};
  if (coding == PointCoding::kPriorDelta) {
    const Prior& prior = plan.priors[anchor];
    return {(prior.cx + boxes.scale[0] * p.x * prior.width) * boxes.unit_x,
            (prior.cy + boxes.scale[1] * p.y * prior.height) * boxes.unit_y, p.score};
  }
  if (coding == PointCoding::kInBox) {
    const Box box = face(plan, numbers, anchor);
    return {box.x1 + (box.x2 - box.x1) * p.x, box.y1 + (box.y2 - box.y1) * p.y, p.score};
  }
  const Place at = cell(plan, anchor);
  if (coding == PointCoding::kCellPixels)
    return {at.stride * at.x + p.x, at.stride * at.y + p.y, p.score};
  return {at.stride * (at.x + p.x), at.stride * (at.y + p.y), p.score};
}

void add_points(const Plan& plan, const Numbers& numbers, uint32_t anchor,
                std::vector<float>& out) {
  const KeypointRules& rules = plan.payload.keypoints;
  const Letterbox& way = plan.letterbox_of(numbers.image);
  if (is_planted(Bug::kPointsInOrder)) anchor = uint32_t(out.size() / 3 / rules.count);
  for (uint32_t i = 0; i < rules.count; ++i) {
    const uint32_t first = i * rules.values;
    Keypoint p{numbers(FieldId::kPayload, anchor, first + (rules.yx ? 1 : 0)),
               numbers(FieldId::kPayload, anchor, first + (rules.yx ? 0 : 1)), 1};
    if (rules.values == 3) p.score = numbers(FieldId::kPayload, anchor, first + 2);
    p = placed(plan, numbers, anchor, p);
    p.x = (p.x - way.pad_x) * way.scale_x;
    p.y = (p.y - way.pad_y) * way.scale_y;
    if (!std::isfinite(p.x) || !std::isfinite(p.y) || !std::isfinite(p.score)) p = {0, 0, 0};
    const bool clipped = rules.clipped || is_planted(Bug::kPointsClipped);
    if (clipped && !is_planted(Bug::kPointsUnclipped)) {
      p.x = std::clamp(p.x, 0.0f, float(way.frame.width));
      p.y = std::clamp(p.y, 0.0f, float(way.frame.height));
    }
    out.insert(out.end(), {p.x, p.y, p.score});
  }
}

/// Computes every pixel of the prototypes for a box's coefficients.
std::vector<float> sums(const Plan& plan, const Numbers& numbers, uint32_t anchor) {
  const MaskRules& rules = plan.payload.masks;
  const Field& field = plan.layout[FieldId::kPrototypes];
  const TensorView& maps = numbers.tensors[size_t(field.tensor)];
  const uint32_t image = is_planted(Bug::kMaskOfFirst) ? 0 : numbers.image;
  std::vector<float> out(size_t{rules.maps.width} * rules.maps.height);
  for (uint32_t c = 0; c < rules.coefficients; ++c) {
    const float factor = numbers(FieldId::kPayload, anchor, c);
    for (size_t i = 0; i < out.size(); ++i) {
      const float each = load(maps, field.at(image, i, c));
      out[i] =
          is_planted(Bug::kMaskFused) ? std::fma(factor, each, out[i]) : out[i] + factor * each;
    }
  }
  return out;
}

/// A pixel's bit in rows of words that begin with the rectangle's first column.
void put(std::vector<bool>& row, const MaskRect& place, uint32_t x, bool inside) {
  row[x - place.x / 32 * 32] = inside;
}

/// Appends a mask's words. @param is_inside(x, y) true for the object's pixels.
void add_words(const MaskRect& place, const auto& is_inside, std::vector<uint32_t>& out) {
  for (uint32_t y = place.y; y < place.y + place.height; ++y) {
    std::vector<bool> row(size_t{place.words()} * 32);
    for (uint32_t x = place.x; x < place.x + place.width; ++x) put(row, place, x, is_inside(x, y));
    for (size_t word = 0; word < place.words(); ++word) {
      uint32_t bits = 0;
      for (size_t i = 32; i-- > 0;) bits = bits * 2 + (row[word * 32 + i] ? 1 : 0);
      out.push_back(bits);
    }
  }
}

void cut(const Plan& plan, const std::vector<float>& all, MaskRect place,
         std::vector<uint32_t>& out) {
  if (is_planted(Bug::kMaskWider) && place.x > 0) --place.x;
  add_words(
      place,
      [&](uint32_t x, uint32_t y) {
        return all[size_t{y} * plan.payload.masks.maps.width + x] > 0;
      },
      out);
}

/// Position among prototype pixels along an axis, and its two neighbours in the box's rectangle.
struct Between {
  uint32_t first, second;
  float rest;
};
Between between_of(uint32_t pixel, float scale, float pad, uint32_t model, uint32_t end,
                   uint32_t first, uint32_t count) {
  const float per_model = float(end) * (1.0f / float(std::max(model, 1u)));
  float at = ((float(pixel) + 0.5f) / scale + pad) * per_model - 0.5f;
  if (at < 0) at = 0;
  if (at > float(end - 1)) at = float(end - 1);
  const float whole = std::floor(at);
  const auto own = [&](float i) {
    return uint32_t(std::clamp(i, float(first), float(first + count - 1)));
  };
  if (is_planted(Bug::kMaskNearest)) return {own(std::round(at)), own(std::round(at)), 0};
  if (is_planted(Bug::kMaskBeyond))
    return {uint32_t(whole), std::min(uint32_t(whole) + 1, end - 1), at - whole};
  return {own(whole), own(whole + 1), at - whole};
}

void enlarge(const Plan& plan, uint32_t image, const std::vector<float>& all, const MaskRect& from,
             const MaskRect& place, std::vector<uint32_t>& out) {
  const Letterbox map = map_of(plan, image);
  const Size maps = plan.payload.masks.maps;
  const auto mixed = [](float a, float b, float rest) {
    return is_planted(Bug::kMaskMixFused) ? std::fma(b - a, rest, a) : a + (b - a) * rest;
  };
  const auto is_inside = [&](uint32_t x, uint32_t y) {
    const Between across =
        between_of(x, map.scale_x, map.pad_x, map.model.width, maps.width, from.x, from.width);
    const Between down =
        between_of(y, map.scale_y, map.pad_y, map.model.height, maps.height, from.y, from.height);
    const auto column = [&](uint32_t at) {
      return mixed(all[size_t{down.first} * maps.width + at],
                   all[size_t{down.second} * maps.width + at], down.rest);
    };
    return mixed(column(across.first), column(across.second), across.rest) > 0;
  };
  add_words(place, is_inside, out);
}

}  // namespace

SecondPayload second_payload(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                             std::span<const Detection> boxes) {
  const Numbers numbers{plan, tensors, image};
  SecondPayload out;
  for (const Detection& box : boxes) {
    if (plan.payload.keypoints.count != 0) add_points(plan, numbers, box.anchor, out.values);
    for (uint32_t i = 0; plan.payload.has(Moves::kFixed) && i < plan.payload.count; ++i)
      out.values.push_back(numbers(FieldId::kPayload, box.anchor, i));
  }
  if (plan.payload.masks.coefficients == 0) return out;
  place_masks(plan, image, boxes, out.places);
  for (size_t i = 0; i < boxes.size(); ++i) {
    const std::vector<float> all = sums(plan, numbers, boxes[i].anchor);
    const MaskRect& place = out.places.bits[i];
    if (!plan.payload.masks.enlarged) cut(plan, all, place, out.bits);
    else if (place.count() != 0) enlarge(plan, image, all, out.places.sums[i], place, out.bits);
  }
  return out;
}

}  // namespace keepbox::test
