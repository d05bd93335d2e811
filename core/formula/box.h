// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes and their order. For overlap see core/formula/geometry.h.
#pragma once

#include <cstdint>

#include "core/formula/conventions.h"
#include "core/formula/numeric.h"

namespace keepbox {

/// Corners in pixels of the frame or the model, as stated by the context; x2 and y2 are exclusive.
struct Box {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  friend KB_HD constexpr bool operator==(const Box&, const Box&) = default;
};

/// An oriented rectangle with centre, sides and angle.
struct OrientedBox {
  Box box;          // the upright box with the same centre and sides
  float angle = 0;  // radians, clockwise
};

/// Position in pixels.
struct Corner {
  double x = 0, y = 0;
};

/// Corners clockwise; at angle 0 the first is the upper left one.
struct Corners {
  Corner at[4];
};

/// Describes a kept box.
struct Detection {
  Box box;          // frame pixels, clipped to the frame; an oriented box is not clipped, and
                    // given unrotated about its centre
  float score = 0;  // after activation
  float angle = 0;  // radians, clockwise about the centre; 0 for upright boxes
  uint32_t class_id = 0;
  uint32_t anchor = 0;  // row or cell of the tensor
};

/// Describes a box above the score threshold, in model pixels.
struct Candidate {
  uint64_t key = 0;  // order_key(): score, anchor and class
  Box box;           // of an oriented box unrotated, about its centre
  float angle = 0;   // radians, clockwise about the centre; 0 for upright boxes
};

inline constexpr uint32_t kAnchorBits = 21;
inline constexpr uint32_t kClassBits = 11;
inline constexpr uint32_t kMaxAnchors = 1u << kAnchorBits;
inline constexpr uint32_t kMaxClasses = 1u << kClassBits;

/// Returns a unique key whose ascending order is (score descending, anchor and class ascending).
/// @param anchor from anchor_in_key().
/// @pre score is finite, anchor < kMaxAnchors, class_id < kMaxClasses.
KB_HD constexpr uint64_t order_key(float score, uint32_t anchor, uint32_t class_id) {
  const uint32_t bits = float_bits(score + 0.0f);  // -0 becomes +0: the scores are equal
  const uint32_t ascending = (bits & 0x80000000u) ? ~bits : bits | 0x80000000u;
  return (static_cast<uint64_t>(~ascending) << 32) | (anchor << kClassBits) | class_id;
}

KB_HD constexpr uint32_t key_class(uint64_t key) {
  return static_cast<uint32_t>(key) & (kMaxClasses - 1);
}
/// Returns the anchor as encoded by anchor_in_key().
KB_HD constexpr uint32_t key_anchor(uint64_t key) {
  return static_cast<uint32_t>(key) >> kClassBits;
}
KB_HD constexpr float key_score(uint64_t key) {
  const uint32_t ascending = ~static_cast<uint32_t>(key >> 32);
  return float_from_bits((ascending & 0x80000000u) ? ascending & 0x7fffffffu : ~ascending);
}

/// Returns the key with another, finite score.
KB_HD constexpr uint64_t with_score(uint64_t key, float score) {
  return order_key(score, key_anchor(key), key_class(key));
}

/// Converts between an anchor and its encoding in a key; the mapping is its own inverse.
KB_HD constexpr uint32_t anchor_in_key(const NmsContract& contract, uint32_t anchor) {
  return contract.later_first ? kMaxAnchors - 1 - anchor : anchor;
}

/// True if the score passes the threshold; always false for NaN.
KB_HD constexpr bool passes(float score, float threshold, const NmsContract& contract) {
  return contract.score_inclusive ? score >= threshold : score > threshold;
}

/// Returns the box with x1 <= x2 and y1 <= y2 if the contract allows any two opposite corners.
KB_HD constexpr Box ordered(Box b, const NmsContract& contract) {
  if (!contract.reorder_corners) return b;
  return {b.x1 < b.x2 ? b.x1 : b.x2, b.y1 < b.y2 ? b.y1 : b.y2, b.x1 < b.x2 ? b.x2 : b.x1,
          b.y1 < b.y2 ? b.y2 : b.y1};
}

/// True if boxes with these keys may suppress each other.
KB_HD constexpr bool same_class(const NmsContract& contract, uint64_t a, uint64_t b) {
  return contract.class_agnostic || key_class(a) == key_class(b);
}

}  // namespace keepbox
