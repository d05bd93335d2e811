// SPDX-License-Identifier: LGPL-2.1-or-later
// Value checks: compares a frame's tensor values with those that the family implies.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "core/recognition/layout.h"

namespace keepbox {

/// Maximum coordinate that may be a fraction of the input.
inline constexpr float kMaxNormalized = 2;

/// Maximum rounding error of probabilities in bfloat16 or 8 bits.
inline constexpr float kRounding = 0.01f;
/// Maximum distance below zero of probabilities from integers whose zero point is not 0.
inline constexpr float kBelowZero = 0.05f;
/// Maximum rounding error below zero of a size, as a share of the largest size.
inline constexpr float kSizeRounding = 1.0f / 16;
/// Maximum logarithm of a size; e to this is beyond any input in pixels.
inline constexpr float kMaxLogarithm = 16;
/// Largest magnitude of an angle of an oriented box, in radians.
inline constexpr float kTurn = 6.2831855f;

inline constexpr size_t kMinChannels = 5;  // a box and a class

/// Range of the finite values of one channel, over all anchors of the first image.
struct Range {
  float min = std::numeric_limits<float>::infinity();
  float max = -std::numeric_limits<float>::infinity();
  bool integer = true;  // all are integers
};

inline constexpr float kNoThreshold = -std::numeric_limits<float>::infinity();

/// Returns the ranges of a field's first `channels` channels; empty if the tensors are not in host
/// memory. @pre the field is present with as many channels, and its tensors are in bounds.
/// @param threshold rows that have a score of their own below it are left out.
std::vector<Range> ranges(const Layout& layout, FieldId id, uint32_t channels,
                          std::span<const TensorView> tensors, float threshold = kNoThreshold);

/// Returns the ranges of a box's four values; empty for distributions over bins, for sizes in a
/// tensor of their own, and if the tensors are not in host memory. @pre as for ranges().
std::vector<Range> box_ranges(const Layout& layout, std::span<const TensorView> tensors,
                              float threshold = kNoThreshold);

/// True if the tensors of all fields hold as many bytes as their shapes need.
bool in_bounds(const Layout& layout, std::span<const TensorView> tensors);

/// True if boxes of a family with cells are already decoded; nothing if the host cannot read them.
std::optional<bool> looks_decoded(const Layout& layout, std::span<const TensorView> tensors);

/// True if the values may be probabilities, allowing for half precision and quantisation.
bool looks_like_probabilities(const Range& range);

/// True if centres or sizes are too far below zero for decoded boxes: raw offsets and logarithms.
/// @param box cx cy w h. @param beyond true to check the centres as well.
bool looks_undecoded(std::span<const Range> box, bool beyond = true);

/// Returns kMismatch if the values contradict the family: scores that are not probabilities, boxes
/// that are not decoded, class ids that are not integers. Tensors in device memory are not checked.
/// @pre the tensors are in bounds.
/// @param beyond true if centres far outside of the picture contradict decoded boxes.
Status check_values(const Layout& layout, std::span<const TensorView> tensors, bool beyond = true);

/// Returns kMismatch if the best score of a frame's boxes contradicts the family.
Status check_best_score(const Layout& layout, float score);

/// True if the values may be the family's payload: an angle, or keypoints with a score each.
bool likely_payload(const Layout& layout, std::span<const TensorView> tensors);

}  // namespace keepbox
