// SPDX-License-Identifier: LGPL-2.1-or-later
// What boxes bring beside their corners, read only for those that were kept: points and masks.
//
// A Source is that of core/judge.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/judge.h"
#include "core/letterbox.h"
#include "core/points.h"

namespace keepbox {

/// How points are read.
struct PointRules {
  PointCoding coding = PointCoding::kBox;
  uint8_t numbers = 3;  // of a point: 2, or 3 with its score
  bool yx = false;
  bool clipped = false; // to the frame
  bool mean = false;    // of all boxes that went into one, by their scores
  uint16_t count = 0;   // of a box; 0: they are not read
};

/// How masks are made.
struct MaskRules {
  Size maps;                  // of the prototypes, pixels
  uint32_t coefficients = 0;  // of a box, and as many prototypes; 0: masks are not made
  bool enlarged = false;      // to the frame's pixels; else in the prototypes'
};

/// The part of the prototypes that a box's mask is made in, pixels.
struct MaskPlace {
  uint32_t x = 0, y = 0, width = 0, height = 0;
  uint32_t offset = 0;  // of its first pixel behind the first of all masks

  KB_HD uint32_t count() const { return width * height; }
};

/// Where masks are written, at their places' offsets: one of the two.
struct MaskRoom {
  uint8_t* inside = nullptr;   // 1 where the sum is above 0, else 0
  float* numbers = nullptr;    // the sums
};

/// A mask of a kept box.
struct Mask {
  const uint8_t* pixels = nullptr;  // rows of `width`: 1 where the object is, else 0
  uint32_t width = 0, height = 0;   // one of them 0 where there is none
  Box place;                        // what the pixels cover, evenly: pixels of the frame
};

/// A point in the model's pixels.
template <class Source>
KB_HD Keypoint model_point(const Source& from, const PointRules& rules, uint32_t anchor,
                           uint32_t number) {
  const uint32_t first = number * rules.numbers;
  const float a = from.get(Part::kPayload, anchor, first);
  const float b = from.get(Part::kPayload, anchor, first + 1);
  Keypoint out{rules.yx ? b : a, rules.yx ? a : b, 1};
  if (rules.numbers > 2) out.score = from.get(Part::kPayload, anchor, first + 2);
  const BoxRules& boxes = from.rules.boxes;
  const BoxTables& tables = from.tables.boxes;
  switch (rules.coding) {
    case PointCoding::kBox:
      return {out.x * boxes.unit_x, out.y * boxes.unit_y, out.score};
    case PointCoding::kPriorDelta: {
      const Prior& prior = tables.priors[anchor];
      return {(out.x * boxes.scale[0] * prior.width + prior.cx) * boxes.unit_x,
              (out.y * boxes.scale[1] * prior.height + prior.cy) * boxes.unit_y, out.score};
    }
    case PointCoding::kInBox: {
      const RawBox raw = raw_box(from, anchor);
      const Box box = decode_box(boxes, tables, anchor, raw.v[0], raw.v[1], raw.v[2], raw.v[3]);
      return {out.x * (box.x2 - box.x1) + box.x1, out.y * (box.y2 - box.y1) + box.y1, out.score};
    }
    default: break;
  }
  const Cell cell = cell_of(boxes, tables.levels, anchor);
  const float stride = tables.levels[cell.level].stride;
  if (rules.coding == PointCoding::kCellPixels)
    return {out.x + cell.x * stride, out.y + cell.y * stride, out.score};
  return {(out.x + cell.x) * stride, (out.y + cell.y) * stride, out.score};
}

/// A point in the frame's pixels; one that is a NaN or an infinity becomes 0 0 with a score of 0.
KB_HD inline Keypoint on_frame(const Letterbox& letterbox, const Keypoint& point, bool clipped) {
  Box at = letterbox.to_frame(Box{point.x, point.y, point.x, point.y});
  const bool fine = is_finite(at.x1) && is_finite(at.y1) && is_finite(point.score);
  if (clipped) at = clip(at, letterbox.frame);
  return fine ? Keypoint{at.x1, at.y1, point.score} : Keypoint{0, 0, 0};
}

struct Plan;

/// Of prototypes: more is no model's.
inline constexpr size_t kMostMaskPixels = size_t{1} << 22;

/// The places of boxes' masks. Those that would go beyond 2^30 pixels of an image, in the prototypes'
/// or in the frame's resolution, are empty. @param detections of an image, on the frame.
/// @return how many pixels all have.
size_t place_masks(const Plan& plan, std::span<const Detection> detections,
                   std::vector<MaskPlace>& out);

}  // namespace keepbox
