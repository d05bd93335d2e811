// SPDX-License-Identifier: LGPL-2.1-or-later
// Keypoints and the other data of a kept box, from the model's pixels to the frame's.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/formula/candidate.h"
#include "core/formula/conventions.h"
#include "core/formula/letterbox.h"

namespace keepbox {

// Keypoints: their rules, and the formulas from raw values to pixels.

/// Keypoint of a kept box, in pixels of the frame or the model; may be outside of the picture.
struct Keypoint {
  float x = 0, y = 0;
  float score = 1;  // as given by the model; 1 if it gives none
  friend constexpr bool operator==(const Keypoint&, const Keypoint&) = default;
};

/// Rules to decode keypoints.
struct KeypointRules {
  PointCoding coding = PointCoding::kBox;
  uint8_t values = 3;  // per keypoint: 2, or 3 with its score
  bool yx = false;
  bool clipped = false;  // to the frame
  uint16_t count = 0;    // per box; 0: no keypoints
  friend constexpr bool operator==(const KeypointRules&, const KeypointRules&) = default;
};

// Payloads: values that a box carries in addition to its corners and score, such as keypoints.

/// Mapping of a payload when its box is mapped to a frame, or the frame is scaled or moved.
enum class Moves : uint8_t {
  kFixed,     // unchanged: values of the object itself, such as an embedding
  kAsPoints,  // x, y and score of each keypoint: x and y are mapped
  kAsMask,    // coefficients of a mask, whose rectangle is mapped
};

/// A kind of payload.
struct PayloadKind {
  std::string_view name;
  Moves moves = Moves::kFixed;
  friend constexpr bool operator==(const PayloadKind&, const PayloadKind&) = default;
};

inline constexpr PayloadKind kKeypointPayload{"keypoints", Moves::kAsPoints};
inline constexpr PayloadKind kMaskPayload{"mask-coefficients", Moves::kAsMask};
inline constexpr PayloadKind kEmbeddingPayload{"embedding", Moves::kFixed};

/// Number of values of a keypoint: x, y and score.
inline constexpr uint32_t kPointValues = sizeof(Keypoint) / sizeof(float);
static_assert(sizeof(Keypoint) == kPointValues * sizeof(float));

// Decodes a keypoint of an anchor.

/// Decodes a keypoint to model pixels.
template <AnchorReader Values>
KB_HD Keypoint model_point(const Values& from, const KeypointRules& rules, uint32_t anchor,
                           uint32_t number) {
  const uint32_t first = number * rules.values;
  const float a = from.get(FieldId::kPayload, anchor, first);
  const float b = from.get(FieldId::kPayload, anchor, first + 1);
  Keypoint out{rules.yx ? b : a, rules.yx ? a : b, 1};
  if (rules.values > 2) out.score = from.get(FieldId::kPayload, anchor, first + 2);
  const BoxRules& boxes = from.rules.boxes;
  const BoxTables& tables = from.tables.boxes;
  switch (rules.coding) {
    case PointCoding::kBox: return {out.x * boxes.unit_x, out.y * boxes.unit_y, out.score};
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
    case PointCoding::kCells:
    case PointCoding::kCellPixels: break;
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

}  // namespace keepbox
