// SPDX-License-Identifier: LGPL-2.1-or-later
// What the numbers of quantised tensors stand for, as the user says it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/detector.h"
#include "gst/tensors/tensors.h"

namespace keepbox {

/// Scale and zero point of tensors: real value = (stored - zero point) * scale.
class Quantization {
 public:
  /// "scale", "scale:zero-point", "id:scale" or "id:scale:zero-point", several with ',' or ';'. An
  /// id may have colons in it; one that is, or ends in, a number wants the zero point behind the
  /// scale. Without an id it is for all tensors of whole numbers that have no entry. kInvalid for
  /// anything else, scales that are not above 0, and a second entry for a tensor.
  static Result<Quantization> from(const std::string& text);

  /// Tells listed tensors, which are not mapped yet. @return a warning where ids are missing.
  std::optional<Error> apply(FrameTensors& tensors) const;

 private:
  struct Entry {
    std::string id;  // empty: all others
    float scale = 1, zero_point = 0;
  };
  static Result<Entry> entry_from(std::string_view text);
  const Entry* find(const TensorView& tensor) const;

  std::vector<Entry> entries_;
};

/// Gives what a family says to listed tensors of integers of which nobody else has spoken yet.
/// @param tensor_ids as the property of that name.
void quantize_as(const DetectorSpec& family, FrameTensors& tensors,
                 std::span<const std::string> tensor_ids);

}  // namespace keepbox
