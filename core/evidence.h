// SPDX-License-Identifier: LGPL-2.1-or-later
// What a tensor's numbers say about its family: shapes propose, numbers confirm.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/layout.h"
#include "core/result.h"
#include "core/tensor.h"

namespace keepbox {

/// Beyond this, coordinates cannot be fractions of the input.
inline constexpr float kMostNormalized = 2;

/// The most that bfloat16 and eight bits add to 1 or take from 0.
inline constexpr float kRounding = 0.01f;
/// Share of the largest size by which rounding may take one below zero.
inline constexpr float kSizeRounding = 1.0f / 16;
/// e to this is beyond any input in pixels.
inline constexpr float kMostLogarithm = 16;

inline constexpr size_t kLeastChannels = 5;  // a box and a class

/// The finite numbers of one channel over all anchors of the first image.
struct Range {
  float least = std::numeric_limits<float>::infinity();
  float most = -std::numeric_limits<float>::infinity();
  bool whole = true;  // integers, all of them
};

/// Of a part's first `channels` channels; empty where the host cannot read the tensors.
/// @pre the part is there, its tensors are in bounds.
std::vector<Range> ranges(const Layout& layout, Part part, uint32_t channels,
                          std::span<const TensorView> tensors);

/// May it hold probabilities, as far as half precision and quantisation keep them?
bool probable(const Range& range);

/// Centres or sizes further below zero than any of a picture are: offsets and logarithms.
/// @param box cx cy w h. @param beyond whether centres count.
bool undecoded(std::span<const Range> box, bool beyond = true);

/// kMismatch where numbers cannot be what the family has in their place: scores that are no
/// probabilities, boxes that are not decoded, classes that are no integers. Tensors that the host
/// cannot read deny nothing. @pre the tensors are in bounds.
/// @param beyond whether centres far beyond the picture's edge deny decoded boxes.
Status check_numbers(const Layout& layout, std::span<const TensorView> tensors,
                     bool beyond = true);

/// The same for the best score of a frame's boxes.
Status check_best_score(const Layout& layout, float score);

/// The families of the table that fit a tensor's shape and numbers, with their classes and
/// payloads, as text; empty when none does.
std::string families_of(const TensorView& tensor, const Request& request);

}  // namespace keepbox
