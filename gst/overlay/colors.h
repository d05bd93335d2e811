// SPDX-License-Identifier: LGPL-2.1-or-later
// Which colour a box has.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gst/metas/analytics.h"

namespace keepbox {

struct Rgb {
  uint8_t r = 0, g = 0, b = 0;
  friend constexpr bool operator==(Rgb, Rgb) = default;
};

/// 0xRRGGBB; what stands above is ignored.
constexpr Rgb rgb(uint32_t code) {
  return {uint8_t(code >> 16), uint8_t(code >> 8), uint8_t(code)};
}

/// The colours by number. Any two that follow each other, the last and the first included, and any
/// two of the first eight can be told apart with every kind of colour vision.
std::span<const Rgb> palette();

/// Of boxes without a tracking id among those coloured by it; not in the palette.
constexpr Rgb kUntracked{160, 160, 160};

/// A number for a class that has a name only: a function of its bytes, in every run and build.
uint32_t number_of(std::string_view label);

/// Black or white, whichever stands out more on the background (contrast of WCAG 2).
Rgb text_color(Rgb background);

enum class ColorBy { kClass, kTrackingId, kModel };
GType color_by_type();

/// Colours of boxes. Remembers which models there are.
class Colors {
 public:
  /// By class, a model's colours begin elsewhere in the palette than those of the models seen
  /// before it, and the first one's at the palette's beginning.
  Rgb of(const FrameBox& box, ColorBy by);

 private:
  uint32_t number_of_model(GQuark model);

  std::vector<GQuark> models_;  // as they were seen first
};

}  // namespace keepbox
