// SPDX-License-Identifier: LGPL-2.1-or-later
// The input that models of a family or an export expect.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/formula/letterbox.h"

namespace keepbox {

/// Conversion of a picture to the model input, for families whose training projects agree on it.
/// Values are R, G, B in 0..255: input = (pixel - mean) / deviation.
struct InputRule {
  std::array<float, 3> deviation{};  // 0: unknown
  std::array<float, 3> mean{};
  bool bgr = false;  // channel order B, G, R
  ResizeMode resize = ResizeMode::kLetterboxCenter;
  uint8_t pad = 114;          // pad value (grey)
  std::string_view caveat{};  // models of the family that need another input; empty: none known

  bool known() const { return deviation[0] > 0; }
};

}  // namespace keepbox
