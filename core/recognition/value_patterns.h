// SPDX-License-Identifier: LGPL-2.1-or-later
// Detects value patterns of tensors before a family is fitted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/tensor.h"
#include "core/recognition/layout.h"

namespace keepbox {

/// Returns the pattern of the tensor's rows; kNone if there is none or the host cannot read it.
/// @param anchors, channels dimensions of an image.
ValuePattern pattern_of(const TensorView& tensor, size_t anchors, size_t channels);

/// Returns kCornerScores if planes have that pattern, or kNone.
ValuePattern pattern_of_planes(const TensorView& tensor, size_t channels, size_t anchors);

/// True if rows have the pattern kImageRows in these columns, at least one of which is an object.
/// False if the host cannot read them. @param anchors, channels dimensions of an image.
bool are_image_rows(const TensorView& tensor, size_t anchors, size_t channels,
                    const Columns& columns);

/// True if rows begin like end-to-end rows, with a box, score and class number, and the other
/// columns may be that payload: angles, or keypoints of three values. False if the host cannot read
/// them.
/// @param anchors, channels dimensions of an image.
bool may_have_row_payload(const TensorView& tensor, size_t anchors, size_t channels,
                          Payload payload);

/// Returns "rows of corners, score, class".
std::string_view pattern_text(ValuePattern pattern);

/// Finds the tensors with the sign kCountedOutputs or kLabelledOutputs, whatever their names:
/// 1xNx4, 1xN, 1xN and 1, or Nx4, N and N among others of other shapes. @return their indices in
/// the order of the sign; empty if the values are not in host memory where they are needed, if they
/// do not match, or if there is more or less than one of each.
std::vector<size_t> find_outputs(ValuePattern pattern, std::span<const TensorView> tensors);

/// True if the last logit of most queries is the largest and positive, as "no object" of a softmax;
/// false if most queries have no positive logit, as with sigmoids; nothing otherwise.
/// @pre the tensors are in bounds.
std::optional<bool> looks_softmaxed(const Layout& layout, std::span<const TensorView> tensors);

/// True if each row adds up to 1 without a negative value, like the output of a softmax; false if
/// the host cannot read the tensor. @pre it has rows x columns elements.
bool adds_to_one(const TensorView& tensor, size_t rows, size_t columns);

/// Returns the kind of model of tensors without boxes: "a classifier with 1000 classes", "a text
/// recogniser", "a text detector or a depth estimator"; empty if unknown.
std::string other_task(std::span<const TensorView> tensors);

}  // namespace keepbox
