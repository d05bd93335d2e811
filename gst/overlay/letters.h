// SPDX-License-Identifier: LGPL-2.1-or-later
// Text by letters that are drawn once: OpenCV takes longer for a label than for its whole box.
#pragma once

#include <array>
#include <opencv2/core.hpp>
#include <string_view>

namespace keepbox {

/// OpenCV's plain Hershey font in one size. What is not printable ASCII is a question mark.
class Letters {
 public:
  /// A scale of 1 makes capitals 21 pixels high. Forgets the letters of another scale.
  void resize(double scale);

  /// The width of a text, and its height above the base line, in pixels.
  cv::Size size(std::string_view text) const;
  /// Pixels below the base line.
  int below() const { return below_; }

  /// Writes on a mask (8 bits, 255 where a letter covers a pixel), from that point of the base line
  /// on. What lies beyond the mask is cut.
  void write(cv::Mat& mask, std::string_view text, cv::Point at);

 private:
  static constexpr char kFirst = ' ', kLast = '~';
  struct Letter {
    cv::Mat mask;  // drawn when it is first needed, with a margin
    double advance = 0;
  };
  static size_t index(char c) { return size_t((c >= kFirst && c <= kLast ? c : '?') - kFirst); }
  const cv::Mat& mask_of(size_t index);

  double scale_ = 0;
  int stroke_ = 1, height_ = 0, below_ = 0;
  std::array<Letter, kLast - kFirst + 1> letters_;
};

}  // namespace keepbox
