// SPDX-License-Identifier: LGPL-2.1-or-later
// Letters are drawn by OpenCV, and placed next to each other here.
#include "gst/overlay/letters.h"

#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <string>

namespace keepbox {
namespace {

constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
constexpr int kRun = 64;  // letters in a row, to measure one with subpixel precision

/// Raises values to those of a row. A call of cv::max() takes longer than drawing a letter.
void raise(uint8_t* values, const uint8_t* to, int count) {
  for (int i = 0; i < count; ++i) values[i] = std::max(values[i], to[i]);
}

}  // namespace

void Letters::resize(double scale) {
  if (scale == scale_) return;
  scale_ = scale;
  stroke_ = std::max(1, cvRound(scale * 2));
  int column = 0;
  for (size_t i = 0; i < letters_.size(); ++i) {
    const std::string run(kRun, static_cast<char>(kFirst + i));
    const cv::Size size = cv::getTextSize(run, kFont, scale, stroke_, &below_);
    const double advance = double(size.width - stroke_) / kRun;
    height_ = size.height;
    letters_[i] = {.column = column, .width = cvCeil(advance) + 2 * margin(), .advance = advance};
    column += letters_[i].width;
  }
  draw_sheet();
}

void Letters::draw_sheet() {
  const Letter& last = letters_.back();
  sheet_ = cv::Mat::zeros(height_ + below_ + 2 * margin(), last.column + last.width, CV_8U);
  for (size_t i = 0; i < letters_.size(); ++i) {
    cv::Mat mask = sheet_.colRange(letters_[i].column, letters_[i].column + letters_[i].width);
    cv::putText(mask, std::string(1, static_cast<char>(kFirst + i)), {margin(), margin() + height_},
                kFont, scale_, cv::Scalar(255), stroke_, cv::LINE_AA);
  }
}

cv::Size Letters::size(std::string_view text) const {
  double width = stroke_;
  for (const char c : text) width += letters_[index(c)].advance;
  return {cvRound(width), height_};
}

void Letters::write(cv::Mat& mask, std::string_view text, cv::Point at) const {
  const cv::Rect bounds({0, 0}, mask.size());
  place(text, at.x, [&](const PlacedLetter& letter) {
    const cv::Rect whole({letter.x, top(at.y)}, cv::Size(letter.width, sheet_.rows));
    const cv::Rect part = whole & bounds;
    if (part.empty()) return;
    const cv::Point from = part.tl() - whole.tl() + cv::Point(letter.column, 0);
    for (int row = 0; row < part.height; ++row)
      raise(mask.ptr(part.y + row, part.x), sheet_.ptr(from.y + row, from.x), part.width);
  });
}

}  // namespace keepbox
