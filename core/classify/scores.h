// SPDX-License-Identifier: LGPL-2.1-or-later
// Classes from the scores of a classifier.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/tensor.h"
#include "core/formula/conventions.h"

namespace keepbox {

struct ClassRules {
  Activation activation = Activation::kSoftmax;  // of the scores; kNone: they are probabilities
  uint32_t max_classes = 1;                      // maximum number of classes per image
  float threshold = 0;                           // minimum probability
};

struct ClassScore {
  uint32_t class_id = 0;
  float level = 0;  // probability
};

/// Returns the best classes of an image, best first; of equal scores the lower class id first.
/// Scores that are not finite are ignored.
/// @param scores images x classes, in system memory. @pre check_bounds(scores), image is in it.
std::vector<ClassScore> best_classes(const TensorView& scores, size_t image,
                                     const ClassRules& rules);

}  // namespace keepbox
