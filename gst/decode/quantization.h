// SPDX-License-Identifier: LGPL-2.1-or-later
// Scale and zero point of quantised tensors, as set by the user.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/model/detector.h"
#include "gst/tensors/tensors.h"

namespace keepbox {

/// Scale and zero point of tensors: real value = (stored - zero point) * scale.
class Quantization {
 public:
  /// Parses "scale", "scale:zero-point", "id:scale" or "id:scale:zero-point"; several are separated
  /// by ',' or ';'. An id may contain colons; if it is or ends in a number, the zero point is
  /// required after the scale. Without an id, the entry applies to all integer tensors without an
  /// entry. kInvalid for anything else, scales that are not above 0, and two entries for one
  /// tensor.
  static Result<Quantization> from(const std::string& text);

  /// Applies the entries to listed tensors that are not mapped yet. @return a warning if ids are
  /// missing.
  std::optional<Error> apply(FrameTensors& tensors) const;

 private:
  struct Entry {
    std::string id;  // empty: all other tensors
    float scale = 1, zero_point = 0;
  };
  static Result<Entry> entry_from(std::string_view text);
  const Entry* find(const TensorView& tensor) const;

  std::vector<Entry> entries_;
};

/// Applies the family's quantization to listed integer tensors that have none yet.
/// @param tensor_ids as the property of that name.
void quantize_as(const DetectorSpec& family, FrameTensors& tensors,
                 std::span<const std::string> tensor_ids);

}  // namespace keepbox
