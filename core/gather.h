// SPDX-License-Identifier: LGPL-2.1-or-later
// Keypoints and masks, decoded for kept boxes only.
//
// For Source see core/judge.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/judge.h"
#include "core/letterbox.h"
#include "core/points.h"

namespace keepbox {

/// Rules to decode keypoints.
struct PointRules {
  PointCoding coding = PointCoding::kBox;
  uint8_t numbers = 3;  // per keypoint: 2, or 3 with its score
  bool yx = false;
  bool clipped = false; // to the frame
  bool mean = false;    // weighted by score over all boxes merged into one
  uint16_t count = 0;   // per box; 0: no keypoints
};

/// Rules to compute masks.
struct MaskRules {
  Size maps;                  // size of the prototypes, pixels
  uint32_t coefficients = 0;  // per box, and number of prototypes; 0: no masks
  bool enlarged = false;      // to frame resolution; otherwise prototype resolution
};

/// Rectangle of a box's mask in the prototypes, pixels.
struct MaskPlace {
  uint32_t x = 0, y = 0, width = 0, height = 0;
  uint32_t offset = 0;  // of its first pixel from the first pixel of all masks

  KB_HD uint32_t count() const { return width * height; }
};

/// Output buffers for masks, at the offsets of MaskPlace; one of the two is set.
struct MaskRoom {
  uint8_t* inside = nullptr;   // 1 where the sum is positive, otherwise 0
  float* numbers = nullptr;    // sums
};

/// Mask of a kept box.
struct Mask {
  const uint8_t* pixels = nullptr;  // rows of `width`: 1 inside the object, otherwise 0
  uint32_t width = 0, height = 0;   // one of them is 0 if there is no mask
  Box place;                        // area covered by the pixels, in frame pixels
};

/// Decodes a keypoint to model pixels.
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

/// Maps a keypoint to frame pixels; a NaN or an infinity becomes 0 0 with a score of 0.
KB_HD inline Keypoint on_frame(const Letterbox& letterbox, const Keypoint& point, bool clipped) {
  Box at = letterbox.to_frame(Box{point.x, point.y, point.x, point.y});
  const bool fine = is_finite(at.x1) && is_finite(at.y1) && is_finite(point.score);
  if (clipped) at = clip(at, letterbox.frame);
  return fine ? Keypoint{at.x1, at.y1, point.score} : Keypoint{0, 0, 0};
}

struct Plan;

/// Maximum number of pixels of a prototype.
inline constexpr size_t kMostMaskPixels = size_t{1} << 22;

/// Computes the rectangles of masks. Masks beyond 2^30 pixels per image, in prototype or frame
/// resolution, are empty. @param detections of an image, on the frame.
/// @return the number of pixels of all masks.
size_t place_masks(const Plan& plan, std::span<const Detection> detections,
                   std::vector<MaskPlace>& out);

}  // namespace keepbox
