// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes and the two decisions about them: do they overlap, and which comes first.
#pragma once

#include <cstdint>

#include "core/contract.h"
#include "core/numeric.h"

namespace keepbox {

/// Corners in pixels of whatever picture the context names; x2 and y2 are exclusive.
struct Box {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  friend constexpr bool operator==(const Box&, const Box&) = default;
};

/// Floats that belong to one box beyond its corners, in the Processor's payload array.
/// Their meaning is the DetectorSpec's Payload: keypoints x, y, visibility; mask coefficients.
struct PayloadRef {
  uint32_t first = 0;
  uint32_t count = 0;
};

/// One box that was kept.
struct Detection {
  Box box;               // in frame pixels, clipped to the frame
  float score = 0;       // as the model gave it, after its activation
  float angle = 0;       // radians, clockwise about the centre; 0 for upright boxes
  uint32_t class_id = 0;
  uint32_t anchor = 0;   // row or cell of the tensor that it came from
  PayloadRef payload;
};

/// One box that passed the score threshold, in the model's pixels.
struct Candidate {
  uint64_t key = 0;  // order_key(): holds score, anchor and class
  Box box;
};

inline constexpr uint32_t kAnchorBits = 21;
inline constexpr uint32_t kClassBits = 11;
inline constexpr uint32_t kMaxAnchors = 1u << kAnchorBits;
inline constexpr uint32_t kMaxClasses = 1u << kClassBits;

/// A unique key whose ascending order is (score descending, anchor ascending, class ascending).
/// @pre score is finite, anchor < kMaxAnchors, class_id < kMaxClasses.
KB_HD constexpr uint64_t order_key(float score, uint32_t anchor, uint32_t class_id) {
  const uint32_t bits = float_bits(score + 0.0f);  // -0 becomes +0: they are equal scores
  const uint32_t ascending = (bits & 0x80000000u) ? ~bits : bits | 0x80000000u;
  return (static_cast<uint64_t>(~ascending) << 32) | (anchor << kClassBits) | class_id;
}

KB_HD constexpr uint32_t key_class(uint64_t key) {
  return static_cast<uint32_t>(key) & (kMaxClasses - 1);
}
KB_HD constexpr uint32_t key_anchor(uint64_t key) {
  return static_cast<uint32_t>(key) >> kClassBits;
}
KB_HD constexpr float key_score(uint64_t key) {
  const uint32_t ascending = ~static_cast<uint32_t>(key >> 32);
  return float_from_bits((ascending & 0x80000000u) ? ascending & 0x7fffffffu : ~ascending);
}

/// Does the score pass? A NaN never does.
KB_HD constexpr bool passes(float score, float threshold, const NmsContract& contract) {
  return contract.score_inclusive ? score >= threshold : score > threshold;
}

/// The same box with x1 <= x2 and y1 <= y2 where the contract allows any two opposite corners.
KB_HD constexpr Box ordered(Box b, const NmsContract& contract) {
  if (!contract.reorder_corners) return b;
  return {b.x1 < b.x2 ? b.x1 : b.x2, b.y1 < b.y2 ? b.y1 : b.y2, b.x1 < b.x2 ? b.x2 : b.x1,
          b.y1 < b.y2 ? b.y2 : b.y1};
}

KB_HD constexpr float extent(float low, float high, const NmsContract& contract) {
  const float size = contract.plus_one ? (high - low) + 1.0f : high - low;
  return size > 0.0f ? size : 0.0f;
}

KB_HD constexpr float area(Box b, const NmsContract& contract) {
  return extent(b.x1, b.x2, contract) * extent(b.y1, b.y2, contract);
}

/// Negative when one axis is inverted, as OpenCV computes it.
KB_HD constexpr float signed_area(Box b) { return (b.x2 - b.x1) * (b.y2 - b.y1); }

/// Do boxes without a common pixel (by the contract's pixels) never overlap?
KB_HD constexpr bool apart_is_free(float threshold, const NmsContract& contract) {
  return !contract.empty_overlap && (threshold > 0.0f || !contract.iou_inclusive);
}

// Where overlaps() can be decided without its division: common / both is beyond the threshold or
// not as common - threshold * both is above 0 or not, if that is further from 0 than rounding can
// carry it. Quotient and product are each off by at most 2^-24 of themselves; the guard is 2^-20 of
// the product, and products near the least floats are divided.
inline constexpr float kOverlapGuard = 9.5367431640625e-7f;
inline constexpr float kOverlapLeast = 1e-30f;

/// Do two finite boxes overlap by more than the threshold? IoU is intersection / union, divided:
/// a comparison by product decides otherwise at the threshold. 0 / 0 is no overlap.
/// @pre the threshold is 0 or a normal float.
KB_HD constexpr bool overlaps(Box a, Box b, float threshold, const NmsContract& contract) {
  a = ordered(a, contract);
  b = ordered(b, contract);
  const float width = extent(a.x1 > b.x1 ? a.x1 : b.x1, a.x2 < b.x2 ? a.x2 : b.x2, contract);
  const float height = extent(a.y1 > b.y1 ? a.y1 : b.y1, a.y2 < b.y2 ? a.y2 : b.y2, contract);
  const float common = width * height;
  const float both = (area(a, contract) + area(b, contract)) - common;
  if (contract.empty_overlap && signed_area(a) + signed_area(b) <= 0.0f) return true;
  const float iou = common / both;
  return contract.iou_inclusive ? iou >= threshold : iou > threshold;
}

}  // namespace keepbox
