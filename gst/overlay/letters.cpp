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
  for (size_t i = 0; i < letters_.size(); ++i) {
    const std::string run(kRun, static_cast<char>(kFirst + i));
    const cv::Size size = cv::getTextSize(run, kFont, scale, stroke_, &below_);
    height_ = size.height;
    letters_[i] = {.mask = {}, .advance = double(size.width - stroke_) / kRun};
  }
}

cv::Size Letters::size(std::string_view text) const {
  double width = stroke_;
  for (const char c : text) width += letters_[index(c)].advance;
  return {cvRound(width), height_};
}

const cv::Mat& Letters::mask_of(size_t index) {
  Letter& letter = letters_[index];
  if (!letter.mask.empty()) return letter.mask;
  const int margin = stroke_ + 1;
  letter.mask =
      cv::Mat::zeros(height_ + below_ + 2 * margin, cvCeil(letter.advance) + 2 * margin, CV_8U);
  cv::putText(letter.mask, std::string(1, static_cast<char>(kFirst + index)),
              {margin, margin + height_}, kFont, scale_, cv::Scalar(255), stroke_, cv::LINE_AA);
  return letter.mask;
}

void Letters::write(cv::Mat& mask, std::string_view text, cv::Point at) {
  const cv::Rect bounds({0, 0}, mask.size());
  double x = at.x - stroke_ - 1;
  for (const char c : text) {
    const cv::Mat& letter = mask_of(index(c));
    const cv::Rect place({cvRound(x), at.y - height_ - stroke_ - 1}, letter.size());
    x += letters_[index(c)].advance;
    const cv::Rect part = place & bounds;
    if (part.empty()) continue;
    const cv::Point from = part.tl() - place.tl();
    for (int row = 0; row < part.height; ++row)
      raise(mask.ptr(part.y + row, part.x), letter.ptr(from.y + row, from.x), part.width);
  }
}

}  // namespace keepbox
