// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks whether values can be those of a family: of rows, of maps, and of tensors that it leaves
// unread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "core/recognition/layout.h"

namespace keepbox {

// Value checks: compares a frame's tensor values with those that the family implies.

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

// Properties of all rows of a layout that tell families of the same shapes apart.

/// How the four values of a box are ordered, over all rows of the first image.
enum class BoxOrder : uint8_t {
  kUnknown,     // too few rows, or the host cannot read them
  kAscending,   // the third is above the first and the fourth above the second in each row: corners
  kNearly,      // so but for rounding, and for rows without an object
  kDisordered,  // reversed in many rows: no corners
};
BoxOrder box_order(const Layout& layout, std::span<const TensorView> tensors);

/// Returns the position of a background among class scores that add up to 1 in each row, if it is
/// above one half in most rows; kNone if there is none or the host cannot read them.
Background background_of(const Layout& layout, std::span<const TensorView> tensors);

/// True if the class scores of each row add up to 1; also if the host cannot read them.
bool may_add_to_one(const Layout& layout, std::span<const TensorView> tensors);

/// Numbers of class scores, or of a score per row.
struct ScoreCount {
  size_t all = 0, not_finite = 0;
};
/// Counts the scores of the first image; zeros if the host cannot read them.
ScoreCount count_scores(const Layout& layout, std::span<const TensorView> tensors);

/// True if nearly all rows have a last class score that is not close to 0, unlike the other scores:
/// an angle, not a class.
bool ends_in_angle(const Layout& layout, std::span<const TensorView> tensors);

/// Returns the median distance between the box of an anchor with an object and the nearest one of
/// another cell, as a share of the input. It is short for the input of the model, because detectors
/// see an object from several cells. Nothing if the host cannot read the tensors, for families
/// without boxes in pixels of cells, and if less than two cells have an object.
/// @param input that may be the model's.
std::optional<float> spread_of(const Layout& layout, std::span<const TensorView> tensors,
                               Size input);

// Tensors that a family leaves unread, as evidence against it.

/// Returns the indices of the tensors that a layout reads, in ascending order.
std::vector<size_t> read_tensors(const Layout& layout);

/// True if two tensors differ in one dimension at most and share a grid's cells or as many
/// channels: other values of the same anchors, or the same values of another level.
bool belong_together(const Shape& a, const Shape& b);

/// Returns the unread tensors that belong together with one that is read, other than those that the
/// family ignores.
std::vector<size_t> unread_parts(const Layout& layout, std::span<const TensorView> tensors);

/// Returns the unread tensors with a name of one of the family's optional tensors, which have other
/// channels than that.
std::vector<size_t> misfits(const Layout& layout, std::span<const TensorView> tensors);

}  // namespace keepbox
