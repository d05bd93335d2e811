// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors that are rejected or ambiguous, and the errors.
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/core/recognition/recognising.h"

namespace keepbox {
namespace {

using test::expect_family;
using test::see;
using test::tensor;

TEST(Recognise, LimitsClassesToTheSizeOfKeys) {
  // 84 anchors match the grid of a 64x64 picture; a dimension that cannot be channels is anchors.
  const Request small{.detector = "yolov8", .frame = {64, 64}};
  expect_family(see({tensor({1, 4 + kMaxClasses, 84})}, small), "yolov8", 84, kMaxClasses);
  expect_family(see({tensor({1, 4 + kMaxClasses + 1, 84})}, small), "yolov8", 4 + kMaxClasses + 1,
                80);
}

TEST(Recognise, RejectsHugeBatches) {
  for (const size_t images : {size_t{1} << 32, (size_t{1} << 32) + 1, size_t{1} << 20}) {
    EXPECT_FALSE(see({tensor({images, 0, 6}, "yolo-26-end2end-out")})) << images;
    EXPECT_FALSE(see({tensor({images, 5, 2}, "yolo-v8-out")})) << images;
    EXPECT_FALSE(see({tensor({images, 2, 4}, "Gst.Model.ObjectDetector.Boxes"),
                      tensor({images, 2}, "Gst.Model.ObjectDetector.Scores"),
                      tensor({images, 2}, "Gst.Model.ObjectDetector.Classes"),
                      tensor({images}, "Gst.Model.ObjectDetector.NumDetections")}))
        << images;
  }
  expect_family(see({tensor({64, 300, 6}, "yolo-26-end2end-out")}), "yolo26", 300, 0);
}

TEST(Recognise, NeedsACountPerImage) {
  const auto ssd = [](size_t images, size_t counts) {
    return see({tensor({images, 100}, "Gst.Model.ObjectDetector.Scores"),
                tensor({counts}, "Gst.Model.ObjectDetector.NumDetections", DataType::kUInt32),
                tensor({images, 100, 4}, "Gst.Model.ObjectDetector.Boxes"),
                tensor({images, 100}, "Gst.Model.ObjectDetector.Classes")});
  };
  EXPECT_TRUE(ssd(2, 2));
  EXPECT_FALSE(ssd(2, 1));
}

TEST(Recognise, NamesThePropertyWhenShapesAreAmbiguous) {
  for (const Shape& shape : {Shape{1, 8400, 6}, Shape{1, 8400, 33}, Shape{1, 777, 20}}) {
    const auto seen = see({tensor(shape)});
    ASSERT_FALSE(seen) << shape.to_string();
    EXPECT_EQ(seen.error().kind, ErrorKind::kAmbiguous);
    EXPECT_NE(seen.error().message().find("detector="), std::string::npos);
    EXPECT_NE(seen.error().message().find(shape.to_string()), std::string::npos);
  }
  expect_family(see({tensor({1, 8400, 6})}, {.detector = "yolov8"}), "yolov8", 8400, 2);
  expect_family(see({tensor({1, 8400, 6})}, {.detector = "yolov10"}), "yolov10", 8400, 0);
}

TEST(Recognise, ErrorsHaveExpectedFoundAndHint) {
  const auto none = see({});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find("GstTensorMeta"), std::string::npos);
  const auto wrong = see({tensor({1, 12}, "logits")});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("logits 1x12 float32"), std::string::npos);
  EXPECT_NE(
      see({tensor({1, 3})}, {.detector = "yolov5-heads"}).error().expected.find("for 3 levels"),
      std::string::npos);
  EXPECT_EQ(see({tensor({1, 3})}, {.detector = "yolov8"}).error().expected.find("levels"),
            std::string::npos);
  const auto type = see({tensor({1, 84, 8400}, "yolo-v8-out", DataType::kInt8)});
  ASSERT_FALSE(type);
  EXPECT_EQ(type.error().kind, ErrorKind::kMismatch);
  EXPECT_NE(type.error().message().find("int8"), std::string::npos);
  const auto unknown = see({tensor({1, 84, 8400})}, {.detector = "yolov99"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::kInvalid);
}

TEST(Recognise, RejectsOtherNumbersOfClassesThanSet) {
  Request request;
  request.detector = "detr";  // which has a background
  request.num_classes = 3;
  const auto seen = see({tensor({1, 6, 4}), tensor({1, 6, 5})}, request);
  ASSERT_FALSE(seen);
  EXPECT_NE(seen.error().expected.find("scores 1xNx4"), std::string::npos) << seen.error().expected;
  EXPECT_NE(seen.error().hint.find("num-classes="), std::string::npos) << seen.error().hint;
  request.num_classes = 4;
  EXPECT_TRUE(see({tensor({1, 6, 4}), tensor({1, 6, 5})}, request));
}

TEST(Recognise, RejectsMoreAnchorsOrClassesThanKeysHold) {
  EXPECT_FALSE(see({tensor({1, 84, (1u << 21) + 1}, "yolo-v8-out")}));
  EXPECT_FALSE(see({tensor({1, 5000, 8400}, "yolo-v8-out")}));
  EXPECT_FALSE(see({tensor({1, 6, 4}), tensor({1, 6, 0})}, {.detector = "ssd"})) << "no scores";
}

TEST(Recognise, RejectsMapsWithoutImages) {
  for (const size_t images : {1, 0}) {
    std::vector<TensorView> levels;
    for (const size_t side : {80, 40, 20}) levels.push_back(tensor({images, 144, side, side}));
    EXPECT_EQ(see(levels, {.detector = "yolov8-heads"}).has_value(), images == 1);
  }
}

TEST(Recognise, RejectsTensorsOfDifferentNumbersOfImages) {
  EXPECT_TRUE(see({tensor({2, 6, 4}), tensor({2, 6, 5})}, {.detector = "ssd"}));
  EXPECT_FALSE(see({tensor({2, 6, 4}), tensor({1, 6, 5})}, {.detector = "ssd"}));
  EXPECT_FALSE(see({tensor({1, 6, 4}), tensor({2, 6, 5})}, {.detector = "ssd"}));
  for (const size_t first : {1, 2})
    EXPECT_EQ(
        see({tensor({first, 144, 80, 80}), tensor({1, 144, 40, 40}), tensor({1, 144, 20, 20})},
            {.detector = "yolov8-heads"})
            .has_value(),
        first == 1);
}

/// A sanitizer detects columns counted in an int.
TEST(Recognise, RejectsHugeNumbersOfClasses) {
  DetectorSpec spec = *find_detector("yolov8");
  spec.strides = {};
  spec.columns = {.classes = 13, .box_last = true};
  const size_t side = (size_t{1} << 31) + 16;  // including 17 that are not classes
  Request request;
  request.family = &spec;
  const auto seen = see({tensor({1, side, side})}, request);
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().kind, ErrorKind::kUnsupported) << seen.error().message();
  EXPECT_NE(seen.error().found.find("2147483647 classes"), std::string::npos) << seen.error().found;
}

}  // namespace
}  // namespace keepbox
