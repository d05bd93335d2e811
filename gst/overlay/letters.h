// SPDX-License-Identifier: LGPL-2.1-or-later
// Text made of letters that are drawn once, because OpenCV takes longer for a label than for a box.
#pragma once

#include <array>
#include <opencv2/core.hpp>
#include <string_view>

namespace keepbox {

/// A letter of a text: the columns of its mask on the sheet, and where they begin.
struct PlacedLetter {
  int x = 0;
  int column = 0, width = 0;
};

/// OpenCV's plain Hershey font in one size. Characters other than printable ASCII become question
/// marks.
class Letters {
 public:
  /// Sets the scale; 1 makes capitals 21 pixels high. Draws all letters of another scale.
  void resize(double scale);

  /// Returns the width of a text, and its height above the base line, in pixels.
  cv::Size size(std::string_view text) const;
  /// Returns the pixels below the base line.
  int below() const { return below_; }

  /// Returns the masks of all letters next to each other (8 bits, 255 where a letter covers a
  /// pixel), with margins that overlap in a text.
  const cv::Mat& sheet() const { return sheet_; }
  /// Calls a function with the letters of a text that starts at a column.
  template <class Use>
  void place(std::string_view text, int start, const Use& use) const {
    double x = start - margin();
    for (const char c : text) {
      const Letter& letter = letters_[index(c)];
      use(PlacedLetter{cvRound(x), letter.column, letter.width});
      x += letter.advance;
    }
  }
  /// Returns the row in which the letters on a base line begin.
  int top(int base_line) const { return base_line - height_ - margin(); }

  /// Writes on a mask, starting at that point of the base line; clipped to the mask. Overlapping
  /// margins keep the larger value.
  void write(cv::Mat& mask, std::string_view text, cv::Point at) const;

 private:
  static constexpr char kFirst = ' ', kLast = '~';
  struct Letter {
    int column = 0, width = 0;  // on the sheet
    double advance = 0;
  };
  static size_t index(char c) { return size_t((c >= kFirst && c <= kLast ? c : '?') - kFirst); }
  int margin() const { return stroke_ + 1; }
  void draw_sheet();

  double scale_ = 0;
  int stroke_ = 1, height_ = 0, below_ = 0;
  std::array<Letter, kLast - kFirst + 1> letters_;
  cv::Mat sheet_;
};

}  // namespace keepbox
