// SPDX-License-Identifier: LGPL-2.1-or-later
// Keypoints and masks of kept boxes, compared with plain arithmetic in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/scene.h"

namespace keepbox {
namespace {

using test::Tensor;

/// Planes of one anchor: a box, one class and a payload.
Tensor anchor(std::vector<float> box, float score, std::vector<float> payload) {
  Tensor out{.shape = {1, 5 + payload.size(), 1}};
  out.values = std::move(box);
  out.values.push_back(score);
  out.values.insert(out.values.end(), payload.begin(), payload.end());
  return out;
}

Settings settings_of(const char* detector) {
  Settings settings = test::pixel_settings(64);
  settings.detector = detector;
  settings.num_classes = 1;
  return settings;
}

Processor processor_of(const Settings& settings, const std::vector<TensorView>& views) {
  auto made = test::make_processor(settings, views);
  EXPECT_TRUE(made) << made.error().message();
  EXPECT_TRUE(made->run(views));
  return std::move(*made);
}

TEST(Payload, PointsAreMappedAndNotClipped) {
  Settings settings = settings_of("yolov8-pose");
  settings.model_size = {64, 64};
  settings.frame.size = {128, 64};
  settings.resize_mode = ResizeMode::kLetterboxCenter;  // half the size, 16 rows above and below
  const Tensor tensor = anchor({32, 32, 20, 20}, 0.9f, {32, 32, 0.5f, 70, 10, 0.25f, -3, 48, 1});
  const Processor made = processor_of(settings, {tensor.view()});
  const std::vector<Keypoint> want{{64, 32, 0.5f}, {140, -12, 0.25f}, {-6, 64, 1}};
  EXPECT_TRUE(std::ranges::equal(made.keypoints(), want));
  EXPECT_TRUE(made.masks().empty());
}

TEST(Payload, PointsAreClippedByUltralyticsContract) {
  Settings settings = settings_of("yolov8-pose");
  settings.nms_contract = "ultralytics";
  settings.model_size = {64, 64};
  settings.frame.size = {128, 64};
  settings.resize_mode = ResizeMode::kLetterboxCenter;
  const Tensor tensor =
      anchor({32, 32, 20, 20}, 0.9f, {32, 32, 0.5f, 70, 10, 0.25f, -3, 60, 1, NAN, 2, 0.5f});
  const Processor made = processor_of(settings, {tensor.view()});
  const std::vector<Keypoint> want{{64, 32, 0.5f}, {128, 0, 0.25f}, {0, 64, 1}, {0, 0, 0}};
  EXPECT_TRUE(std::ranges::equal(made.keypoints(), want));
}

TEST(Payload, PointsHaveTwoValuesIfTheThirdIsNotAScore) {
  const std::vector<float> pairs{1, 2, 30, 4, 50, 6}, triples{10, 20, 0, 40, 50, 1};
  const Tensor two = anchor({32, 32, 20, 20}, 0.9f, pairs);
  const Tensor three = anchor({32, 32, 20, 20}, 0.9f, triples);
  const Settings settings = settings_of("yolov8-pose");
  const Processor a = processor_of(settings, {two.view()});
  const Processor b = processor_of(settings, {three.view()});
  ASSERT_EQ(a.keypoints().size(), 3u);
  EXPECT_EQ(a.keypoints()[1], (Keypoint{30, 4, 1}));
  ASSERT_EQ(b.keypoints().size(), 2u);
  EXPECT_EQ(b.keypoints()[1], (Keypoint{40, 50, 1}));
}

TEST(Payload, PointsThatAreNanHaveNoScore) {
  const Tensor tensor =
      anchor({32, 32, 20, 20}, 0.9f, {NAN, 2, 0.5f, 3, INFINITY, 0.5f, 4, 5, 0.5f});
  const Processor made = processor_of(settings_of("yolov8-pose"), {tensor.view()});
  const std::vector<Keypoint> want{{0, 0, 0}, {0, 0, 0}, {4, 5, 0.5f}};
  EXPECT_TRUE(std::ranges::equal(made.keypoints(), want));
}

TEST(Payload, PointsMayPrecedeTheClassesOfALevel) {
  auto family = std::make_shared<DetectorSpec>(*find_detector("yolov5-face"));
  family->strides = {8};
  family->cell_anchors = {1};
  Settings settings = settings_of("auto");
  settings.family = family;
  Tensor rows{.shape = {1, 2, 16}};
  for (float score : {0.9f, 0.01f}) {
    rows.values.insert(rows.values.end(), {32, 32, 20, 20, score});
    for (int i = 0; i < 10; ++i) rows.values.push_back(static_cast<float>(i));
    rows.values.push_back(1);
  }
  const Processor made = processor_of(settings, {rows.view()});
  EXPECT_EQ(made.plan().layout.classes, 1u);
  ASSERT_EQ(made.keypoints().size(), 5u);
  EXPECT_EQ(made.keypoints()[4], (Keypoint{8, 9, 1}));
}

TEST(Payload, NothingIsReadIfNotRequested) {
  Settings settings = settings_of("yolov8-pose");
  settings.keypoints = false;
  const Tensor tensor = anchor({32, 32, 20, 20}, 0.9f, {1, 2, 0.5f});
  const Processor made = processor_of(settings, {tensor.view()});
  EXPECT_EQ(made.detections().size(), 1u);
  EXPECT_TRUE(made.keypoints().empty());
}

TEST(Payload, PointsOfMergedBoxesAreMeans) {
  Settings settings = settings_of("yolov8-pose");
  settings.nms_method = NmsMethod::kWeighted;
  settings.max_detections = 1;
  settings.score_threshold = 0.1f;
  Tensor both{.values = {32, 32, 32, 32, 20, 20, 20, 20, 0.75f, 0.25f, 10, 30, 20, 60, 0.5f, 1},
              .shape = {1, 8, 2}};
  const Processor mean = processor_of(settings, {both.view()});
  ASSERT_EQ(mean.keypoints().size(), 1u);
  EXPECT_EQ(mean.keypoints()[0].x, 15) << "three quarters of 10 and one of 30";
  EXPECT_EQ(mean.keypoints()[0].y, 30);
  // Later they are apart: the second one exceeds the limit and does not influence the first.
  auto made = test::make_processor(settings, std::vector{both.view()});
  ASSERT_TRUE(made && made->run(std::vector{both.view()}));
  both.values[0] = 10;
  both.values[1] = 50;
  ASSERT_TRUE(made->run(std::vector{both.view()}));
  ASSERT_EQ(made->keypoints().size(), 1u);
  EXPECT_EQ(made->keypoints()[0].x, 10);
  EXPECT_EQ(made->keypoints()[0].y, 20);
}

TEST(Payload, PointSetFollowsFromTheNumberOfPoints) {
  const Tensor body = anchor({32, 32, 20, 20}, 0.9f, std::vector<float>(51, 0.5f));
  const Processor made = processor_of(settings_of("yolov8-pose"), {body.view()});
  EXPECT_EQ(made.plan().payload.point_set.name, "body-pose/coco-17");
  EXPECT_EQ(made.plan().payload.point_set.edges.size(), 18u);
  const Tensor other = anchor({32, 32, 20, 20}, 0.9f, std::vector<float>(27, 0.5f));
  const Processor nine = processor_of(settings_of("yolov8-pose"), {other.view()});
  EXPECT_EQ(nine.plan().payload.point_set.name, "");
  EXPECT_EQ(nine.plan().payload.point_set.count, 9u);
}

/// Prototypes of a ramp and a constant, which make the mask of a disc.
Tensor prototypes(Size maps, bool planes) {
  const size_t pixels = size_t{maps.width} * maps.height;
  Tensor out{.shape = planes ? Shape{1, 2, maps.height, maps.width}
                             : Shape{1, maps.height, maps.width, 2}};
  out.values.resize(2 * pixels);
  for (uint32_t y = 0; y < maps.height; ++y)
    for (uint32_t x = 0; x < maps.width; ++x) {
      const float dx = (float(x) + 0.5f) / float(maps.width) - 0.5f;
      const float dy = (float(y) + 0.5f) / float(maps.height) - 0.5f;
      const size_t pixel = size_t{y} * maps.width + x;
      const float numbers[] = {1, -(dx * dx + dy * dy)};
      for (size_t c = 0; c < 2; ++c)
        out.values[planes ? c * pixels + pixel : pixel * 2 + c] = numbers[c];
    }
  return out;
}

/// A disc with a radius of a quarter of the input, and a box around it.
Tensor disc() { return anchor({32, 32, 40, 40}, 0.9f, {0.0625f, 1}); }

TEST(Payload, MasksAreCroppedToTheirBoxes) {
  Settings settings = settings_of("yolov8-seg");
  const Tensor box = anchor({32, 32, 20, 12}, 0.9f, {0.0625f, 1});  // narrower than the disc
  for (const bool planes : {true, false}) {
    const Tensor maps = prototypes({16, 16}, planes);
    const Processor made = processor_of(settings, {box.view(), maps.view()});
    ASSERT_EQ(made.masks().size(), 1u);
    const Mask& mask = made.masks()[0];
    // Columns 5.5 to 10.5 and rows 6.5 to 9.5 in prototype pixels, extended to whole pixels.
    EXPECT_EQ(mask.width, 5u);
    EXPECT_EQ(mask.height, 3u);
    EXPECT_EQ(mask.place, (Box{24, 28, 44, 40}));
    for (uint32_t i = 0; i < 15; ++i) EXPECT_TRUE(mask.at(i % 5, i / 5)) << i;
  }
}

TEST(Payload, MasksScaleWithBothSidesOfTheirMaps) {
  const Tensor box = anchor({32, 32, 20, 12}, 0.9f, {0.0625f, 1});
  for (const bool planes : {true, false}) {
    const Tensor maps = prototypes({16, 8}, planes);
    const Processor made = processor_of(settings_of("yolov8-seg"), {box.view(), maps.view()});
    ASSERT_EQ(made.masks().size(), 1u);
    // Rows 3.25 to 4.75 in prototype pixels, twice as high as wide.
    EXPECT_EQ(made.masks()[0].place, (Box{24, 32, 44, 40}));
  }
}

/// Returns the number of wrong pixels of a disc around a point.
size_t wrong(const Mask& mask, double x, double y, double radius_x, double radius_y,
             double border) {
  size_t out = 0;
  for (uint32_t row = 0; row < mask.height; ++row)
    for (uint32_t column = 0; column < mask.width; ++column) {
      const double dx = (double{mask.place.x1} + column + 0.5 - x) / radius_x;
      const double dy = (double{mask.place.y1} + row + 0.5 - y) / radius_y;
      const double from_edge = (std::sqrt(dx * dx + dy * dy) - 1) * std::min(radius_x, radius_y);
      const bool inside = mask.at(column, row);
      if (std::abs(from_edge) > border && inside != (from_edge < 0)) ++out;
    }
  return out;
}

TEST(Payload, FrameMasksAreAccurateToAPixel) {
  Settings settings = settings_of("yolov8-seg");
  settings.mask_size = MaskSize::kFrame;
  settings.model_size = {64, 64};
  const Tensor box = anchor({32, 32, 40, 36}, 0.9f, {0.0625f, 1}),
               maps = prototypes({16, 32}, true);
  for (const Size frame : {Size{64, 64}, Size{640, 480}, Size{130, 517}, Size{1920, 1080}}) {
    settings.frame.size = frame;
    for (const ResizeMode mode : {ResizeMode::kStretch, ResizeMode::kLetterboxCenter,
                                  ResizeMode::kLetterboxTopLeft, ResizeMode::kCrop}) {
      settings.resize_mode = mode;
      const Processor made = processor_of(settings, {box.view(), maps.view()});
      ASSERT_EQ(made.masks().size(), 1u);
      const Mask& mask = made.masks()[0];
      const Letterbox& way = made.plan().letterbox;
      const Box centre = way.to_frame({32, 32, 32, 32});
      // The disc is the zero of a paraboloid: linear interpolation over 4 pixels is off by up to 4
      // / 8.
      EXPECT_EQ(wrong(mask, centre.x1, centre.y1, 16 * way.scale_x, 16 * way.scale_y,
                      std::max(1.0f, 0.25f * std::min(way.scale_x, way.scale_y))),
                0u)
          << frame.width << 'x' << frame.height << ' ' << static_cast<int>(mode);
      EXPECT_EQ(mask.place.x2 - mask.place.x1, static_cast<float>(mask.width));
      const Box on_frame = made.detections()[0].box;
      for (const float Box::* side : {&Box::x1, &Box::y1, &Box::x2, &Box::y2})
        EXPECT_NEAR(mask.place.*side, on_frame.*side, 1);
    }
  }
}

TEST(Payload, MasksNeedPrototypes) {
  Settings settings = settings_of("yolov8-seg");
  const Tensor box = disc();
  const Processor made = processor_of(settings, {box.view()});
  EXPECT_EQ(made.detections().size(), 1u);
  EXPECT_TRUE(made.masks().empty());
  EXPECT_NE(made.plan().remark.find("no prototypes"), std::string::npos);
}

TEST(Payload, MasksOfBoxesAtTheEdgeStayInside) {
  Settings settings = settings_of("yolov8-seg");
  const Tensor maps = prototypes({16, 16}, true);
  for (const MaskSize size : {MaskSize::kPrototypes, MaskSize::kFrame}) {
    settings.mask_size = size;
    for (const auto& box : {std::vector<float>{0, 0, 30, 30}, {64, 64, 9, 9}, {63, 1, 500, 500}}) {
      const Tensor tensor = anchor(box, 0.9f, {0.0625f, 1});
      const Processor made = processor_of(settings, {tensor.view(), maps.view()});
      ASSERT_EQ(made.masks().size(), 1u);
      const Mask& mask = made.masks()[0];
      EXPECT_GE(mask.place.x1, 0);
      EXPECT_LE(mask.place.x2, 64);
      EXPECT_LE(mask.place.y2, 64);
      EXPECT_GT(mask.width * mask.height, 0u);
    }
  }
}

TEST(Payload, FourPointsAreABodyOnlyIfTheFamilyDeclaresIt) {
  const Tensor plate = anchor({32, 32, 20, 20}, 0.9f, std::vector<float>(12, 0.5f));
  const Processor made = processor_of(settings_of("yolov8-pose"), {plate.view()});
  EXPECT_EQ(made.plan().payload.point_set.count, 4u);
  EXPECT_EQ(made.plan().payload.point_set.name, "");
}

}  // namespace
}  // namespace keepbox
