// SPDX-License-Identifier: LGPL-2.1-or-later
// Text made of letters that are drawn once, because OpenCV takes longer for a label than for a box.
#pragma once

#include <array>
#include <opencv2/core.hpp>
#include <string_view>

namespace keepbox {

/// OpenCV's plain Hershey font in one size. Characters other than printable ASCII become question
/// marks.
class Letters {
 public:
  /// Sets the scale; 1 makes capitals 21 pixels high. Drops the letters of another scale.
  void resize(double scale);

  /// Returns the width of a text, and its height above the base line, in pixels.
  cv::Size size(std::string_view text) const;
  /// Returns the pixels below the base line.
  int below() const { return below_; }

  /// Writes on a mask (8 bits, 255 where a letter covers a pixel), starting at that point of the
  /// base line; clipped to the mask.
  void write(cv::Mat& mask, std::string_view text, cv::Point at);

 private:
  static constexpr char kFirst = ' ', kLast = '~';
  struct Letter {
    cv::Mat mask;  // drawn on first use, with a margin
    double advance = 0;
  };
  static size_t index(char c) { return size_t((c >= kFirst && c <= kLast ? c : '?') - kFirst); }
  const cv::Mat& mask_of(size_t index);

  double scale_ = 0;
  int stroke_ = 1, height_ = 0, below_ = 0;
  std::array<Letter, kLast - kFirst + 1> letters_;
};

}  // namespace keepbox
