// SPDX-License-Identifier: LGPL-2.1-or-later
// Aligned crops next to OpenCV's estimateAffinePartial2D and warpAffine. OpenCV counts from the
// centre of the first pixel, as templates do, and frames from its corner.
#include <gtest/gtest.h>

#include <cmath>
#include <opencv2/calib3d.hpp>
#include <opencv2/imgproc.hpp>
#include <random>

#include "core/plan/crops.h"
#include "core/reference/backend.h"

namespace keepbox {
namespace {

constexpr Size kFrame{320, 240}, kInput{112, 112};

CropPlan plan() {
  FrameForm form{.size = kFrame};
  form.matrix = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  for (uint8_t i = 0; i < 3; ++i) form.components[i] = {.plane = 0, .offset = i, .step = 3};
  auto made = plan_crops(form, 1, 1, {.size = kInput});
  EXPECT_TRUE(made);
  return *made;
}

/// Five keypoints of a face that is scaled and turned, each up to `noise` pixels off.
std::vector<Keypoint> face(std::mt19937& random, float noise) {
  const auto number = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  const float angle = number(-3.1f, 3.1f), scale = number(0.4f, 1.5f);
  const float x = number(120, 200), y = number(90, 150);
  std::vector<Keypoint> out;
  for (const auto& point : arcface_template().points) {
    const float u = (point.x - 56) * scale, v = (point.y - 56) * scale;
    out.push_back({x + u * std::cos(angle) - v * std::sin(angle) + number(-noise, noise),
                   y + u * std::sin(angle) + v * std::cos(angle) + number(-noise, noise), 1});
  }
  return out;
}

/// Returns OpenCV's transform from pixels of the frame to those of the template.
cv::Mat transform_of(const std::vector<Keypoint>& points, int method, double threshold) {
  std::vector<cv::Point2f> from, to;
  for (const Keypoint& each : points) from.emplace_back(each.x - 0.5f, each.y - 0.5f);
  for (const auto& each : arcface_template().points) to.emplace_back(each.x, each.y);
  return cv::estimateAffinePartial2D(from, to, cv::noArray(), method, threshold, 2000, 0.99, 100);
}

/// Returns the largest distance, over the template's points, between a point and where OpenCV's
/// transform brings the position in the frame that the crop shows there.
double apart(const Crop& crop, const cv::Mat& transform) {
  double most = 0;
  for (const auto& point : arcface_template().points) {
    const CropPoint at = crop.map(point.x + 0.5f, point.y + 0.5f);
    const cv::Mat to = transform * (cv::Mat_<double>(3, 1) << at.x - 0.5, at.y - 0.5, 1);
    most = std::max(most, std::hypot(to.at<double>(0) - point.x, to.at<double>(1) - point.y));
  }
  return most;
}

/// All points count: a threshold beyond the picture makes none an outlier, so that OpenCV's
/// transform is the best one for all of them.
TEST(Alignment, IsThatOfOpenCv) {
  std::mt19937 random(1);
  double most = 0;
  for (int i = 0; i < 200; ++i) {
    const auto points = face(random, 3);
    const auto crop = aligned_crop(plan(), points, arcface_template());
    const cv::Mat transform = transform_of(points, cv::RANSAC, 1000);
    ASSERT_TRUE(crop && !transform.empty());
    most = std::max(most, apart(*crop, transform));
  }
  EXPECT_LT(most, 0.01);
}

/// By default OpenCV takes the best of several fits to two points; points without outliers give the
/// same within their error.
TEST(Alignment, IsNearTheRobustOne) {
  std::mt19937 random(2);
  double most = 0;
  for (int i = 0; i < 200; ++i) {
    const auto points = face(random, 0.1f);
    const auto crop = aligned_crop(plan(), points, arcface_template());
    const cv::Mat transform = transform_of(points, cv::LMEDS, 3);
    ASSERT_TRUE(crop && !transform.empty());
    most = std::max(most, apart(*crop, transform));
  }
  EXPECT_LT(most, 0.5);
}

/// A picture whose brightness changes slowly, since warpAffine rounds positions to 1/32 pixel.
cv::Mat smooth() {
  cv::Mat out(int(kFrame.height), int(kFrame.width), CV_8UC3);
  for (int y = 0; y < out.rows; ++y)
    for (int x = 0; x < out.cols; ++x)
      for (int channel = 0; channel < 3; ++channel)
        out.at<cv::Vec3b>(y, x)[channel] =
            uint8_t(128 + 60 * std::sin(x * 0.07 + channel) + 60 * std::cos(y * 0.05 - channel));
  return out;
}

TEST(Alignment, ShowsWhatWarpAffineShows) {
  cv::Mat picture = smooth();
  const FramePlanes planes{{picture.data}, {int32_t(picture.step)}};
  const auto maker = reference::crop_maker(plan());
  ASSERT_TRUE(maker);
  std::vector<float> input(size_t{3} * kInput.width * kInput.height);
  std::mt19937 random(3);
  size_t compared = 0;
  for (int i = 0; i < 20; ++i) {
    const auto points = face(random, 2);
    const auto crop = aligned_crop(plan(), points, arcface_template());
    ASSERT_TRUE(crop && (*maker)->make(planes, *crop, input.data(), nullptr));
    cv::Mat warped, there;
    const cv::Mat transform = transform_of(points, cv::RANSAC, 1000);
    const cv::Size size(int(kInput.width), int(kInput.height));
    cv::warpAffine(picture, warped, transform, size, cv::INTER_LINEAR);
    cv::warpAffine(cv::Mat(picture.size(), CV_8U, cv::Scalar(255)), there, transform, size);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        if (there.at<uint8_t>(y, x) != 255) continue;  // at the edge OpenCV mixes in the border
        for (int channel = 0; channel < 3; ++channel) {
          const size_t at =
              (size_t(channel) * kInput.height + size_t(y)) * kInput.width + size_t(x);
          ASSERT_NEAR(input[at], warped.at<cv::Vec3b>(y, x)[channel], 1) << x << ' ' << y;
        }
        ++compared;
      }
  }
  EXPECT_GT(compared, 200'000u);
}

}  // namespace
}  // namespace keepbox
