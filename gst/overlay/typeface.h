// SPDX-License-Identifier: LGPL-2.1-or-later
// Text of any script, laid out and drawn by Pango.
#pragma once

#include <pango/pangocairo.h>

#include <cstddef>
#include <memory>
#include <opencv2/core.hpp>
#include <string_view>

#include "core/base/result.h"

namespace keepbox {

/// Pixels of a text, from the point at which it starts on the base line.
struct TextExtent {
  int width = 0;  // to where the next text starts
  cv::Rect ink;   // what is drawn on
};

/// DejaVu Sans in one size, with the host's other fonts for characters that it lacks. Shares
/// nothing with other objects of this class.
class Typeface {
 public:
  /// Texts of more bytes are cut.
  static constexpr size_t kLongest = 1024;

  /// Sets the height of capitals, and the width from which on texts end in an ellipsis. Finds the
  /// host's fonts on the first call. Returns kNoResource, then and later, if there are none.
  Status resize(double capitals, int widest);

  /// Lays out a text, right-to-left scripts included. Bytes that are not UTF-8 and control
  /// characters are replaced by U+FFFD. @pre resize()
  TextExtent lay_out(std::string_view text);
  /// Returns the coverage (8 bits) of the text that was laid out last, of the size of its ink.
  cv::Mat draw() const;

 private:
  struct Unref {
    void operator()(gpointer object) const { g_object_unref(object); }
  };

  Status open();
  void set_size(double pixels);

  std::unique_ptr<PangoLayout, Unref> layout_;
  Status opened_;
  double capital_ = 0.73;  // height of a capital in a font of one pixel
  int height_ = 1;         // of a capital
  int widest_ = 0;
  cv::Rect ink_;  // of the text that was laid out
};

}  // namespace keepbox
