// SPDX-License-Identifier: LGPL-2.1-or-later
// Drawing of masks and keypoints in every format.
#include <gtest/gtest.h>

#include <cfloat>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tests/masks.h"
#include "tests/unit/overlay/frame.h"

namespace keepbox {
namespace {

using namespace test;

constexpr Edge kLine[] = {{0, 1}};

Mark masked(const FrameMask& mask) {
  Mark mark = box(mask.place.x1, mask.place.y1, mask.place.x2, mask.place.y2);
  mark.mask = mask;
  return mark;
}

Mark jointed(std::span<const Keypoint> points, std::span<const Edge> edges = kLine) {
  Mark mark = box(0, 0, 60, 40);
  mark.keypoints = {.points = points, .edges = edges};
  return mark;
}

const Pen kNoOutlines{.thickness = 1, .outlines = false};

/// Returns the sample of a component for that pixel of the frame.
int sample(const Frame& frame, guint c, int x, int y) {
  const GstVideoFormatInfo* format = frame.frame.info.finfo;
  return frame.at(c, x >> GST_VIDEO_FORMAT_INFO_W_SUB(format, c),
                  y >> GST_VIDEO_FORMAT_INFO_H_SUB(format, c));
}

int changed(const Frame& frame) {
  int count = 0;
  for (int y = 0; y < frame.frame.info.height; ++y)
    for (int x = 0; x < frame.frame.info.width; ++x) count += frame.at(0, x, y) != kBackground;
  return count;
}

class ShapeFormats : public testing::TestWithParam<const char*> {
 protected:
  ShapeFormats() : frame(gst_video_format_from_string(GetParam()), 65, 49) {}
  guint components() const { return std::min(GST_VIDEO_FRAME_N_COMPONENTS(&frame.frame), 3u); }
  /// Expects a share of red over the background in all components. Unless `sharp` is set, chroma
  /// may be a mean with adjacent pixels.
  void expect_share(double share, int x, int y, int tolerance = 1) {
    const auto red = red_of(frame);
    for (guint c = 0; c < components(); ++c)
      EXPECT_NEAR(sample(frame, c, x, y), kBackground + share * (red[c] - kBackground), tolerance)
          << "component " << c << " at " << x << "," << y;
  }

  Frame frame;
};

TEST_P(ShapeFormats, MasksTintWithinAnEdge) {
  // The right half of the rectangle is the object: from 24 to 40.
  const TestMask mask({".#", ".#"});
  paint(frame, masked(mask.over({8, 8, 40, 40})), kNoOutlines);
  expect_share(0.4, 30, 20);
  expect_share(0.4, 32, 36);
  expect_share(0, 20, 20);
  expect_share(0, 44, 20);
  expect_share(0, 30, 4);
  expect_share(0, 30, 44);
  const auto red = red_of(frame);
  for (const auto& [x, y] : {std::pair{24, 20}, {39, 20}, {30, 8}, {30, 39}})
    EXPECT_EQ(frame.at(0, x, y), red[0]) << x << "," << y;
  for (const auto& [x, y] : {std::pair{23, 20}, {40, 20}, {30, 7}, {30, 40}})
    EXPECT_EQ(frame.at(0, x, y), kBackground) << x << "," << y;
}

TEST_P(ShapeFormats, NoEdgeAtTheFramesBorder) {
  const TestMask mask({"#"});
  paint(frame, masked(mask.over({-20, -20, 40, 40})), kNoOutlines);
  expect_share(0.4, 0, 0);
  expect_share(0.4, 0, 20);
  expect_share(0.4, 20, 0);
  EXPECT_EQ(frame.at(0, 39, 20), red_of(frame)[0]);
}

TEST_P(ShapeFormats, PointsAndTheLineBetweenThem) {
  const Keypoint points[] = {{10.5f, 10.5f}, {50.5f, 10.5f}, {30.5f, 38.5f}};
  paint(frame, jointed(points), {.thickness = 3, .outlines = false});
  const auto red = red_of(frame);
  EXPECT_EQ(frame.at(0, 30, 10), red[0]) << "the line";
  for (guint c = 1; c < components(); ++c) EXPECT_NEAR(sample(frame, c, 30, 10), red[c], 2);
  EXPECT_EQ(frame.at(0, 30, 14), kBackground);
  for (const auto& [x, y] : {std::pair{10, 10}, {50, 10}, {30, 38}}) {
    EXPECT_LT(frame.at(0, x, y), red[0] / 2) << "black stands out from red";
    EXPECT_GT(frame.at(0, x, y + 3), red[0] / 2) << "rim of the dot";
    EXPECT_EQ(frame.at(0, x, y > 20 ? y - 8 : y + 8), kBackground);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ShapeFormats, testing::ValuesIn(kPaintFormats),
                         [](const auto& test) { return std::string(test.param); });

TEST(Silhouette, UnreadableMaskIsNotDrawn) {
  Frame frame(GST_VIDEO_FORMAT_RGB, 64, 48);
  g_autoptr(GstBuffer) plain = gst_buffer_new_allocate(nullptr, 16, nullptr);
  paint(frame, masked({.pixels = plain, .place = {0, 0, 20, 20}}), kNoOutlines);
  EXPECT_TRUE(frame.untouched());
  const TestMask empty({"..", ".."});
  paint(frame, masked(empty.over({0, 0, 20, 20})), kNoOutlines);
  EXPECT_TRUE(frame.untouched());
}

TEST(Silhouette, EdgesGrowWithThePen) {
  const TestMask mask({"#"});
  const auto solid = [&](int thickness) {
    Frame frame(GST_VIDEO_FORMAT_GRAY8, 200, 200);
    paint(frame, masked(mask.over({20, 20, 180, 180})),
          {.thickness = thickness, .outlines = false});
    int count = 0;
    for (int x = 20; x < 100; ++x) count += frame.at(0, x, 100) == red_of(frame)[0];
    return count;
  };
  EXPECT_EQ(solid(1), 1);
  EXPECT_GE(solid(12), 6);
  EXPECT_LT(solid(256), 20) << "limited whatever the outlines are";
}

size_t threads_of_process() {
  return static_cast<size_t>(
      std::ranges::distance(std::filesystem::directory_iterator("/proc/self/task"),
                            std::filesystem::directory_iterator()));
}

/// OpenCV's pool waits busily: each mask would cost the time of all processors. In a process of its
/// own, because the pool stays once it is there.
TEST(SilhouetteDeathTest, StartsNoThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto draw = [] {
    const TestMask mask({"####", "#..#", "####"});
    Frame frame(GST_VIDEO_FORMAT_RGB, 320, 240);
    const size_t before = threads_of_process();
    paint(frame, masked(mask.over({4, 4, 310, 230})), {.thickness = 3, .outlines = false});
    // A thread that ends, as one of Pango's may, is none of the pool's, which stay.
    for (int i = 0; i < 200 && threads_of_process() != before; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::exit(threads_of_process() == before ? 0 : 1);
  };
  EXPECT_EXIT(draw(), testing::ExitedWithCode(0), "");
}

TEST(Silhouette, OutlinesAreDrawnOverMasks) {
  const TestMask mask({"#"});
  Frame frame(GST_VIDEO_FORMAT_RGB, 64, 48);
  Mark marks[] = {masked(mask.over({4, 4, 60, 44})), box(20, 10, 40, 30)};
  marks[0].color = {0, 0, 255};
  ASSERT_TRUE(Painter().paint(*frame.canvas, marks, {}));
  EXPECT_EQ(frame.at(0, 20, 20), 255) << "even though the masked box is better";
}

TEST(Skeleton, PointsBelowTheThresholdAndTheirLinesAreNotDrawn) {
  const Pen pen{.thickness = 1, .outlines = false, .keypoint_threshold = 0.5f};
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const Keypoint& bad : {Keypoint{50, 10, 0.49f},
                              {50, 10, kNan},
                              {kNan, 10, 1},
                              {50, std::numeric_limits<float>::infinity(), 1}}) {
    Frame frame(GST_VIDEO_FORMAT_RGB, 64, 48);
    const Keypoint points[] = {{10, 10, 0.5f}, bad};
    paint(frame, jointed(points), pen);
    EXPECT_NE(frame.at(0, 10, 10), kBackground);
    EXPECT_EQ(frame.at(0, 30, 10), kBackground);
    EXPECT_EQ(frame.at(0, 50, 10), kBackground);
  }
  Frame frame(GST_VIDEO_FORMAT_RGB, 64, 48);
  const Keypoint points[] = {{10, 10, 0.2f}, {50, 10, 0.1f}};
  Pen all = pen;
  all.keypoint_threshold = 0;
  paint(frame, jointed(points), all);
  EXPECT_NE(frame.at(0, 30, 10), kBackground);
}

TEST(Skeleton, EdgesOfMissingPointsAreNotDrawn) {
  Frame frame(GST_VIDEO_FORMAT_RGB, 64, 48);
  const Keypoint points[] = {{10, 10}, {50, 10}};
  const Edge edges[] = {{0, 2}, {7, 9}};
  paint(frame, jointed(points, edges), kNoOutlines);
  EXPECT_EQ(frame.at(0, 30, 10), kBackground);
  EXPECT_NE(frame.at(0, 10, 10), kBackground);
}

TEST(Skeleton, DotsAreSmallerIfPointsAreClose) {
  std::vector<Keypoint> wide, close;
  for (int i = 0; i < 49; ++i) {
    const auto x = static_cast<float>(i % 7), y = static_cast<float>(i / 7);
    wide.push_back({20 + x * 25, 20 + y * 25});
    close.push_back({20 + x * 8, 20 + y * 8});
  }
  const Pen pen{.thickness = 4, .outlines = false};
  Frame large(GST_VIDEO_FORMAT_GRAY8, 200, 200), small(GST_VIDEO_FORMAT_GRAY8, 200, 200);
  paint(large, jointed(wide, {}), pen);
  paint(small, jointed(close, {}), pen);
  EXPECT_LT(changed(small), 49 * 25);
  EXPECT_GT(changed(small), 49 * 4);
  EXPECT_GT(changed(large), 49 * 30);
}

TEST(Skeleton, DotsHaveOneSizeInAnyDirectionAndNextToHiddenPoints) {
  const auto drawn = [](std::vector<Keypoint> points) {
    Frame frame(GST_VIDEO_FORMAT_GRAY8, 200, 200);
    paint(frame, jointed(points, {}),
          {.thickness = 4, .outlines = false, .keypoint_threshold = 0.5f});
    return changed(frame);
  };
  const int row = drawn({{40, 100}, {80, 100}});
  EXPECT_GT(row, 2 * 20);
  EXPECT_LT(row, drawn({{20, 100}, {180, 100}})) << "the test sees the size";
  EXPECT_EQ(drawn({{100, 40}, {100, 80}}), row);
  EXPECT_EQ(drawn({{190, 190, 0.1f}, {40, 100}, {80, 100}}), row);
  EXPECT_EQ(drawn({{40, 100}, {190, 190, 0.1f}, {80, 100}}), row);
}

TEST(Skeleton, DotsOutsideOfTheFrameExtendIntoIt) {
  const struct {
    Keypoint point;
    int x, y;  // a covered pixel
  } cases[] = {{{-0.5f, 20}, 0, 20}, {{65, 20}, 63, 20}, {{30, -1}, 30, 0}, {{30, 49}, 30, 47}};
  for (const auto& [point, x, y] : cases) {
    Frame frame(GST_VIDEO_FORMAT_RGB, 64, 48);
    paint(frame, jointed({&point, 1}, {}), kNoOutlines);
    EXPECT_NE(frame.at(0, x, y), kBackground) << point.x << "," << point.y;
    EXPECT_LT(changed(frame), 12);
  }
  Frame tall(GST_VIDEO_FORMAT_RGB, 48, 96);
  const Keypoint low{20, 90};
  paint(tall, jointed({&low, 1}, {}), kNoOutlines);
  EXPECT_NE(tall.at(0, 20, 90), kBackground);
}

TEST(Skeleton, AbsurdPointsAreHarmless) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<Keypoint> points;
  for (const float x : {-FLT_MAX, -1e9f, -1.0f, 5.0f, 1e9f, FLT_MAX, kInf, std::nanf("")})
    for (const float y : {-FLT_MAX, -1e6f, 7.0f, 40.0f, 1e30f}) points.push_back({x, y});
  std::vector<Edge> edges;
  for (uint8_t i = 0; i < points.size(); ++i)
    for (uint8_t j = i; j < points.size(); ++j) edges.push_back({i, j});
  const TestMask mask({"#.", ".#"});
  for (const auto format : {GST_VIDEO_FORMAT_RGB, GST_VIDEO_FORMAT_NV12}) {
    Frame frame(format, 33, 21);
    Mark mark = jointed(points, edges);
    mark.mask = mask.over({-1e30f, -1e9f, 1e30f, 1e9f});
    const auto start = std::chrono::steady_clock::now();
    for (const int thickness : {1, 256}) paint(frame, mark, {.thickness = thickness});
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  }
}

TEST(Shapes, PainterKeepsNoState) {
  const TestMask mask({".#.", "###", ".#."});
  const Keypoint far[] = {{30, 30}, {600, 400}}, near[] = {{12, 12}, {50, 40}};
  Mark first = masked(mask.over({0, 0, 640, 480})), second = masked(mask.over({-30, -30, 99, 99}));
  first.keypoints = {.points = far, .edges = kLine};
  second.keypoints = {.points = near, .edges = kLine};
  for (const auto format : {GST_VIDEO_FORMAT_RGB, GST_VIDEO_FORMAT_NV12}) {
    Painter used;
    Frame large(format, 640, 480), small(format, 65, 49), fresh(format, 65, 49);
    ASSERT_TRUE(used.paint(*large.canvas, {&first, 1}, {.thickness = 9}));
    ASSERT_TRUE(used.paint(*small.canvas, {&second, 1}, {.thickness = 3}));
    paint(fresh, second, {.thickness = 3});
    EXPECT_TRUE(std::ranges::equal(small.bytes(), fresh.bytes()));
  }
}

}  // namespace
}  // namespace keepbox
