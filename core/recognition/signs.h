// SPDX-License-Identifier: LGPL-2.1-or-later
// Detects value patterns of tensors before a family is fitted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/recognition/layout.h"

namespace keepbox {

/// Pattern in the values of one tensor of anchors x channels.
enum class RowSigns : uint8_t {
  kNone,         // nothing, or the values are not in host memory
  kGridOffsets,  // offsets from cells, logarithms of sizes, then probabilities: YOLOX as trained
  kCorners,      // x1 y1 x2 y2, a score, an integer: end-to-end rows
  kQueryRows,    // cx cy w h in 0..1, a score, an integer
  kOnes,         // boxes, a score that is always 1, probabilities: YOLOv6's objectness
  kQueries,      // cx cy w h in 0..1, then probabilities
};

/// Reads the tensor's rows. @param dims of an image, anchors first. Never fails.
RowSigns signs_of(const TensorView& tensor, size_t anchors, size_t channels);

/// Finds the tensors of an SSD after TensorFlow's post-processing, whatever their names: boxes
/// 1xNx4 in 0..1, scores and classes 1xN, their count 1. @return their indices in that order; empty
/// if the values are not in host memory or do not match.
std::vector<size_t> find_ssd_outputs(std::span<const TensorView> tensors);

/// Finds the tensors of torchvision's detectors, whatever their names: boxes Nx4, scores N and
/// integer labels N, among others of other shapes. @return their indices in that order; empty if
/// there is more or less than one of each.
std::vector<size_t> find_torchvision_outputs(std::span<const TensorView> tensors);

/// True if the last logit of most queries is the largest and positive, as "no object" of a softmax;
/// false if most queries have no positive logit, as with sigmoids; nothing otherwise.
/// @pre the tensors are in bounds.
std::optional<bool> looks_softmaxed(const Layout& layout, std::span<const TensorView> tensors);

/// Returns the kind of model of tensors without boxes: "a classifier with 1000 classes", "a text
/// recogniser", "a text detector or a depth estimator"; empty if unknown.
std::string other_task(std::span<const TensorView> tensors);

}  // namespace keepbox
