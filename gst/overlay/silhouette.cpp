// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts a mask to pixel coverage: full at the object's edge, less inside.
#include "gst/overlay/silhouette.h"

#include <algorithm>
#include <opencv2/imgproc.hpp>

#include "core/formula/mask.h"
#include "gst/overlay/privacy/objectcover.h"

namespace keepbox {
namespace {

/// Removes the outer pixels of an object; alternating crosses and squares are nearly a disc, and
/// faster.
void erode(const cv::Mat& object, cv::Mat& inner, int pixels) {
  // ISOLATED keeps older drawings next to this part of the memory out.
  constexpr int kBorder = cv::BORDER_CONSTANT | cv::BORDER_ISOLATED;
  static const cv::Mat cross = cv::getStructuringElement(cv::MORPH_CROSS, {3, 3});
  cv::erode(object, inner, cross, {-1, -1}, 1, kBorder);
  for (int i = 1; i < pixels; ++i)
    cv::erode(inner, inner, i % 2 == 1 ? cv::Mat() : cross, {-1, -1}, 1, kBorder);
}

/// Smooths with 1/4, 1/2, 1/4 in both directions. GaussianBlur() has the same values, but wakes all
/// threads of OpenCV's pool for each mask, and these wait busily.
void smooth_cover(cv::Mat& cover) {
  static const cv::Mat kernel = (cv::Mat_<float>(3, 1) << 0.25f, 0.5f, 0.25f);
  cv::sepFilter2D(cover, cover, CV_8U, kernel, kernel, {-1, -1}, 0,
                  cv::BORDER_REPLICATE | cv::BORDER_ISOLATED);
}

}  // namespace

void draw_silhouette(Canvas& canvas, const FrameMask& mask, Rgb color, int edge,
                     PaintScratch& scratch) {
  if (canvas.tint(mask, color, edge)) return;
  const cv::Rect at = cover_object(canvas, mask, kSmoothingMargin, scratch);
  if (at.empty()) return;
  cv::Mat cover = scratch.cover(cv::Rect({0, 0}, at.size()));
  cv::Mat inner = cleared(scratch.other, at.size());
  erode(cover, inner, std::min(edge, kWidestEdge));
  cv::bitwise_and(inner, cv::Scalar(255 - kTintCover), inner);
  cv::subtract(cover, inner, cover);
  if (edge > 1) smooth_cover(cover);
  canvas.blend(at, cover, scratch.coarse, color);
}

}  // namespace keepbox
