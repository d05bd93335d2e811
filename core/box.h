// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes, and which of them comes first. Which of them overlap says core/geometry.h.
#pragma once

#include <cstdint>

#include "core/contract.h"
#include "core/numeric.h"

namespace keepbox {

/// Corners in pixels of whatever picture the context names; x2 and y2 are exclusive.
struct Box {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  friend KB_HD constexpr bool operator==(const Box&, const Box&) = default;
};

/// One box that was kept.
struct Detection {
  Box box;               // in frame pixels, clipped to the frame; a turned one is not clipped, and
                         // as it would be upright about the same centre
  float score = 0;       // as the model gave it, after its activation
  float angle = 0;       // radians, clockwise about the centre; 0 for upright boxes
  uint32_t class_id = 0;
  uint32_t anchor = 0;   // row or cell of the tensor that it came from
};

/// One box that passed the score threshold, in the model's pixels.
struct Candidate {
  uint64_t key = 0;  // order_key(): holds score, anchor and class
  Box box;           // of a turned one as it would be upright, about the same centre
  float angle = 0;   // radians, clockwise about the centre; 0 for upright boxes
};

inline constexpr uint32_t kAnchorBits = 21;
inline constexpr uint32_t kClassBits = 11;
inline constexpr uint32_t kMaxAnchors = 1u << kAnchorBits;
inline constexpr uint32_t kMaxClasses = 1u << kClassBits;

/// A unique key whose ascending order is (score descending, anchor ascending, class ascending).
/// @param anchor as anchor_in_key() has it.
/// @pre score is finite, anchor < kMaxAnchors, class_id < kMaxClasses.
KB_HD constexpr uint64_t order_key(float score, uint32_t anchor, uint32_t class_id) {
  const uint32_t bits = float_bits(score + 0.0f);  // -0 becomes +0: they are equal scores
  const uint32_t ascending = (bits & 0x80000000u) ? ~bits : bits | 0x80000000u;
  return (static_cast<uint64_t>(~ascending) << 32) | (anchor << kClassBits) | class_id;
}

KB_HD constexpr uint32_t key_class(uint64_t key) {
  return static_cast<uint32_t>(key) & (kMaxClasses - 1);
}
/// As it was put in: see anchor_in_key().
KB_HD constexpr uint32_t key_anchor(uint64_t key) {
  return static_cast<uint32_t>(key) >> kClassBits;
}
KB_HD constexpr float key_score(uint64_t key) {
  const uint32_t ascending = ~static_cast<uint32_t>(key >> 32);
  return float_from_bits((ascending & 0x80000000u) ? ascending & 0x7fffffffu : ~ascending);
}

/// The key with another score, which is finite.
KB_HD constexpr uint64_t with_score(uint64_t key, float score) {
  return order_key(score, key_anchor(key), key_class(key));
}

/// What stands in a key for an anchor, and the anchor for what stands there.
KB_HD constexpr uint32_t anchor_in_key(const NmsContract& contract, uint32_t anchor) {
  return contract.later_first ? kMaxAnchors - 1 - anchor : anchor;
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

/// May boxes with these keys suppress each other?
KB_HD constexpr bool same_class(const NmsContract& contract, uint64_t a, uint64_t b) {
  return contract.class_agnostic || key_class(a) == key_class(b);
}

}  // namespace keepbox
