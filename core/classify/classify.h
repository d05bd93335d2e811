// SPDX-License-Identifier: LGPL-2.1-or-later
// Classes and texts of objects from a classifier's outputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "core/formula/conventions.h"

namespace keepbox {

// Classes from the scores of a classifier.

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

// Text from the scores of a recogniser that was trained with CTC.

/// The characters of a recogniser's classes; class 0 is the blank.
class Characters {
 public:
  /// @param names UTF-8, of classes 1, 2, ...; one more class is a space, as in PaddleOCR's
  /// models (use_space_char). kMismatch if the number of classes fits neither.
  static Result<Characters> create(std::span<const std::string> names, size_t classes);

  const std::string& operator[](size_t class_id) const { return names_[class_id]; }

 private:
  std::vector<std::string> names_;
};

struct ReadText {
  std::string text;  // UTF-8; empty if all steps are blank
  float level = 0;   // mean probability of its characters; 0 for no text
};

/// Reads the text of an image by best path decoding (Graves et al., "Connectionist temporal
/// classification", 2006): the best class of each step, repetitions merged, blanks dropped.
/// @param scores images x steps x classes, in system memory. @param activation kSoftmax or kNone.
/// @pre check_bounds(scores), image is in it, characters are of its classes.
ReadText read_text(const TensorView& scores, size_t image, const Characters& characters,
                   Activation activation);

}  // namespace keepbox
