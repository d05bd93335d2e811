// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts that were drawn on earlier frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <opencv2/core.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/result.h"
#include "gst/overlay/typeface.h"

namespace keepbox {

/// A text of a caption.
struct Lettering {
  std::string_view text;
  TextExtent extent;
  cv::Mat cover;       // of the ink; empty if there was no memory left for it
  uint64_t frame = 0;  // that showed it last
};

/// Lays out and draws each text once, as long as there is memory for it.
class Letters {
 public:
  /// Memory of texts, in bytes. More is in use only for texts of one frame that are not drawn.
  static constexpr size_t kMost = size_t{8} << 20;

  /// Starts a frame, for which texts that the frame before did not show may be forgotten.
  /// @param scale 1 makes capitals 21 pixels high. @param widest texts get an ellipsis there.
  /// @return kNoResource if there is no font.
  Status start(double scale, int widest);

  /// Returns a text; valid until the next start().
  const Lettering& of(std::string_view text);

  /// Writes a text on a mask (8 bits), starting at that point of the base line; clipped to the
  /// mask. Where texts overlap, the larger value remains.
  void write(cv::Mat& mask, const Lettering& lettering, cv::Point at);

  /// Returns the height of capitals in pixels.
  int capitals() const { return capitals_; }

  /// Returns the memory in use, and the number of texts.
  size_t bytes() const { return bytes_; }
  size_t count() const { return texts_.size(); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  void forget();

  Typeface typeface_;
  double scale_ = 0;
  int widest_ = 0, capitals_ = 1;
  std::unordered_map<std::string, Lettering, Hash, std::equal_to<>> texts_;
  size_t bytes_ = 0;
  uint64_t frame_ = 0;
};

}  // namespace keepbox
