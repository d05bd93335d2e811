// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads what a tensor's numbers show before a family is fitted to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/layout.h"
#include "core/tensor.h"

namespace keepbox {

/// Signs that the numbers of one tensor of anchors x channels give, whatever its shape stands for.
enum class RowSigns : uint8_t {
  kNone,         // nothing, or the host cannot read them
  kGridOffsets,  // offsets from cells, logarithms of sizes, then probabilities: YOLOX as trained
  kCorners,      // x1 y1 x2 y2, a score, a whole number: rows that the model sorted out
  kQueryRows,    // cx cy w h in 0..1, a score, a whole number
  kOnes,         // boxes, a score that is always 1, probabilities: YOLOv6's objectness
  kQueries,      // cx cy w h in 0..1, then probabilities
};

/// Reads the tensor's rows. @param dims of an image, anchors first. Never fails.
RowSigns signs_of(const TensorView& tensor, size_t anchors, size_t channels);

/// The tensors of an SSD after TensorFlow's post-processing, whatever they are called: boxes 1xNx4 in
/// 0..1, scores and classes 1xN, their count 1. @return their numbers in that order; empty if the host
/// cannot read them or they are something else.
std::vector<size_t> find_ssd_outputs(std::span<const TensorView> tensors);

/// The tensors of torchvision's detectors, whatever they are called: boxes Nx4, scores N and integer
/// labels N, among others of other shapes. @return their numbers in that order; empty if there is
/// more or less than one of each.
std::vector<size_t> find_torchvision_outputs(std::span<const TensorView> tensors);

/// True if of most queries the last logit is the largest and above 0, as "no object" is of a
/// softmax; false if most have no logit above 0, as sigmoids; nothing if neither is so.
/// @pre the tensors are in bounds.
std::optional<bool> looks_softmaxed(const Layout& layout, std::span<const TensorView> tensors);

/// Names tensors that hold no boxes: "the scores of a classifier (1000 classes)", "characters of a
/// text recogniser", "a map of a text detector"; empty if that cannot be told.
std::string other_task(std::span<const TensorView> tensors);

}  // namespace keepbox
