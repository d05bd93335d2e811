// SPDX-License-Identifier: LGPL-2.1-or-later
// Parts of decoding in the second implementation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/plan.h"

namespace keepbox::test {

/// Returns one channel of a part for all anchors of an image.
std::vector<float> column(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                          FieldId part, uint32_t channel);

/// True if the tensors have that part.
bool there(const Plan& plan, FieldId part);

/// A box with its score, class and anchor.
struct Found {
  uint32_t anchor;
  float score;
  uint32_t class_id;
};

/// True if a score passes its threshold.
bool accepted(float score, float threshold, const NmsContract& contract);

/// Returns the best class of each anchor, or all classes.
std::vector<Found> dense_scores(const Plan& plan, std::span<const TensorView> tensors,
                                uint32_t image);

/// Returns the rows of an image, with one score each.
std::vector<Found> ready_scores(const Plan& plan, std::span<const TensorView> tensors,
                                uint32_t image);

/// Returns rows that index boxes and scores, without those of the background.
std::vector<Found> indexed_scores(const Plan& plan, std::span<const TensorView> tensors,
                                  uint32_t image);

/// Returns the boxes of all anchors.
std::vector<Box> boxes_of(const Plan& plan, std::span<const TensorView> tensors, uint32_t image);

}  // namespace keepbox::test
