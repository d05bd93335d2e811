// SPDX-License-Identifier: LGPL-2.1-or-later
// Recognition by id and by shape, and its errors.
#include "core/recognition/layout.h"
#include "core/recognition/grid.h"
#include "core/recognition/recognise.h"

#include <gtest/gtest.h>

#include <vector>

namespace keepbox {
namespace {

TensorView tensor(Shape shape, std::string_view id = {}, DataType type = DataType::kFloat32) {
  return {.id = id, .type = type, .shape = shape};
}

Result<Recognition> see(std::vector<TensorView> tensors, Request request = {}) {
  return recognise(tensors, request);
}

void expect_family(const Result<Recognition>& seen, std::string_view name, uint32_t anchors,
                   uint32_t classes) {
  ASSERT_TRUE(seen) << seen.error().message();
  EXPECT_EQ(seen->layout.spec->name, name) << seen->remark;
  EXPECT_EQ(seen->layout.anchors, anchors);
  EXPECT_EQ(seen->layout.classes, classes);
  EXPECT_NE(seen->remark.find(name), std::string::npos);
}

TEST(Recognise, ById) {
  expect_family(see({tensor({1, 84, 8400}, "yolo-v8-out")}), "yolov8", 8400, 80);
  expect_family(see({tensor({1, 8400, 84}, "yolo-v8-out")}), "yolov8", 8400, 80);
  expect_family(see({tensor({1, 5, 8400}, "yolo-v8-out")}), "yolov8", 8400, 1);
  expect_family(see({tensor({1, 84, 8400}, "yolo-v8-out-normalized")}), "yolov8-normalized", 8400,
                80);
  expect_family(see({tensor({1, 3549, 85}, "yolox-out")}), "yolox", 3549, 80);
  expect_family(see({tensor({1, 300, 6}, "yolo-26-end2end-out")}), "yolo26", 300, 0);
  expect_family(see({tensor({1, 116, 8400}, "yolo-v8-segmentation-out-detections")}), "yolov8-seg",
                8400, 80);
  expect_family(see({tensor({1, 56, 8400}, "yolo-v8-pose-out")}), "yolov8-pose", 8400, 1);
}

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

TEST(Recognise, SsdByEitherSetOfIds) {
  for (const bool old : {true, false}) {
    const auto id = [&](const char* ours, const char* theirs) { return old ? theirs : ours; };
    const auto seen = see(
        {tensor({1, 100},
                id("ssd-mobilenet-v1-variant-1-out-scores", "Gst.Model.ObjectDetector.Scores")),
         tensor({1}, id("generic-variant-1-out-count", "Gst.Model.ObjectDetector.NumDetections"),
                DataType::kUInt32),
         tensor({1, 100, 4},
                id("ssd-mobilenet-v1-variant-1-out-boxes", "Gst.Model.ObjectDetector.Boxes")),
         tensor({1, 100},
                id("ssd-mobilenet-v1-variant-1-out-classes", "Gst.Model.ObjectDetector.Classes"))});
    expect_family(seen, "ssd-postprocess", 100, 0);
    EXPECT_EQ(seen->layout[FieldId::kBox].tensor, 2);
    EXPECT_EQ(seen->layout[FieldId::kScore].tensor, 0);
    EXPECT_EQ(seen->layout[FieldId::kCount].tensor, 1);
    EXPECT_EQ(seen->layout[FieldId::kClassId].tensor, 3);
  }
}

TEST(Recognise, DetrByIdAndByGenericNames) {
  const auto three = [](const char* boxes, const char* scores, const char* labels, size_t rows,
                        DataType type = DataType::kInt64) {
    return std::vector{tensor({1, rows}, labels, type), tensor({1, rows, 4}, boxes),
                       tensor({1, rows}, scores)};
  };
  for (const auto& tensors : {three("detr-boxes", "detr-scores", "detr-labels", 300),
                              three("boxes", "scores", "labels", 300, DataType::kInt32)}) {
    const auto seen = see(tensors);
    expect_family(seen, "detr-postprocess", 300, 0);
    EXPECT_EQ(seen->layout[FieldId::kBox].tensor, 1);
    EXPECT_EQ(seen->layout[FieldId::kScore].tensor, 2);
    EXPECT_EQ(seen->layout[FieldId::kClassId].tensor, 0);
    EXPECT_FALSE(seen->layout[FieldId::kCount].present());
  }
  // Generic names may belong to other models: all three are required, with these shapes.
  auto two = three("boxes", "scores", "labels", 300);
  two.erase(two.begin());
  const auto open = see(two);
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().message().find("yolo-nas (1 class)"), std::string::npos);
  EXPECT_EQ(open.error().message().find("detr-postprocess"), std::string::npos);
  EXPECT_FALSE(
      see({tensor({1, 300}, "labels"), tensor({1, 300, 5}, "boxes"), tensor({1, 300}, "scores")}));
  EXPECT_FALSE(
      see({tensor({1, 300}, "labels"), tensor({1, 300, 4}, "boxes"), tensor({1, 301}, "scores")}));
  expect_family(
      see({tensor({1, 300}, "labels"), tensor({1, 84, 8400}, "boxes"), tensor({1, 301}, "scores")}),
      "yolov8", 8400, 80);
}

TEST(Recognise, PaddlesRowsAndTheirCount) {
  for (const size_t rows : {0, 1, 5, 6, 300}) {
    const auto seen =
        see({tensor({rows, 6}, "paddle-rows"), tensor({1}, "paddle-count", DataType::kInt32)});
    expect_family(seen, "paddle", static_cast<uint32_t>(rows), 0);
    EXPECT_EQ(seen->layout[FieldId::kClassId].at(0, 2), 12u);
    EXPECT_EQ(seen->layout[FieldId::kScore].at(0, 2), 13u);
    EXPECT_EQ(seen->layout[FieldId::kBox].at(0, 2, 3), 17u);
    EXPECT_EQ(seen->layout[FieldId::kCount].tensor, 1);
  }
  const auto alone = see({tensor({300, 6}, "paddle-rows")});
  expect_family(alone, "paddle", 300, 0);
  EXPECT_FALSE(alone->layout[FieldId::kCount].present());
  EXPECT_FALSE(see({tensor({2, 300, 6}, "paddle-rows"), tensor({1}, "paddle-count")}));
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

TEST(Recognise, ByTheProducersDeclaration) {
  const TensorView rows = tensor({1, 30, 777});
  const auto told = see({rows}, {.told = "yolov8"});
  expect_family(told, "yolov8", 777, 26);
  EXPECT_EQ(told->basis, Basis::kNamed) << "may be rejected by values";
  expect_family(see({tensor({1, 300, 6}, "yolo-26-end2end-out")}, {.told = "paddle"}), "paddle",
                300, 0);
  expect_family(see({tensor({1, 300, 6})}, {.detector = "yolo26", .told = "paddle"}), "yolo26", 300,
                0);
  expect_family(see({tensor({1, 84, 8400})}, {.told = "a family to come"}), "yolov8", 8400, 80);
  EXPECT_FALSE(see({tensor({1, 84, 8400})}, {.told = "ssd"}));
  const std::vector<std::string> ids{"x"};
  expect_family(see({tensor({1, 84, 8400}, "x")}, {.told = "ssd", .tensor_ids = ids}), "yolov8",
                8400, 80);
}

TEST(Recognise, ByShape) {
  expect_family(see({tensor({1, 25200, 85})}), "yolov5", 25200, 80);
  expect_family(see({tensor({1, 6300, 85})}), "yolov5", 6300, 80);
  expect_family(see({tensor({1, 25200, 6})}), "yolov5", 25200, 1);
  expect_family(see({tensor({1, 84, 8400})}), "yolov8", 8400, 80);
  expect_family(see({tensor({84, 8400})}), "yolov8", 8400, 80);
  expect_family(see({tensor({1, 2100, 84})}), "yolov8", 2100, 80);
  expect_family(see({tensor({1, 3549, 85})}), "yolox", 3549, 80);
  expect_family(see({tensor({1, 300, 6})}), "yolov10", 300, 0);
  expect_family(see({tensor({1, 1917, 4}), tensor({1, 1917, 91})}), "ssd", 1917, 91);
  expect_family(see({tensor({1, 1917, 91}), tensor({1, 1917, 4})}), "ssd", 1917, 91);
}

TEST(Recognise, DoesNotTakeBoxesForScores) {
  const auto seen = see({tensor({1, 1917, 4}), tensor({1, 1917, 4})}, {.detector = "ssd"});
  expect_family(seen, "ssd", 1917, 4);
  EXPECT_EQ(seen->layout[FieldId::kBox].tensor, 0);
  EXPECT_EQ(seen->layout[FieldId::kScores].tensor, 1);
}

TEST(Recognise, LevelsMayDifferInAnchorsPerCell) {
  std::vector<TensorView> maps;
  for (const auto& [side, anchors] :
       {std::pair{38u, 4u}, {19u, 6u}, {10u, 6u}, {5u, 6u}, {3u, 4u}, {1u, 4u}}) {
    maps.push_back(tensor({1, 4 * anchors, side, side}));
    maps.push_back(tensor({1, 91 * anchors, side, side}));
  }
  const auto seen = see(maps, {.detector = "ssd300"});
  expect_family(seen, "ssd300", 8732, 91);
}

TEST(Recognise, FewOrNoReadyRows) {
  for (const size_t count : {0, 1, 5, 6, 7, 20, 300})
    expect_family(see({tensor({1, count, 6})}), "yolov10", static_cast<uint32_t>(count), 0);
}

TEST(Recognise, DoesNotTakeKeypointsForScores) {
  for (const Shape& shape :
       {Shape{1, 56, 8400}, Shape{1, 116, 8400}, Shape{1, 85, 25200}, Shape{1, 30, 777}}) {
    const auto seen = see({tensor(shape)});
    ASSERT_FALSE(seen) << shape.to_string();
    EXPECT_EQ(seen.error().kind, ErrorKind::kAmbiguous);
  }
  expect_family(see({tensor({1, 30, 777})}, {.label_count = 26}), "yolov8", 777, 26);
  expect_family(see({tensor({1, 10, 2100})}), "yolov8", 2100, 6);
}

TEST(Recognise, DoesNotTakeChannelsForAGrid) {
  // 84 is also the number of cells of a 64x64 input.
  expect_family(see({tensor({1, 84, 8400})}, {.frame = {64, 64}}), "yolov8", 8400, 80);
  EXPECT_EQ(likely_input({1, 84, 8400}), (Size{640, 640}));
}

TEST(Recognise, FitsTheRecognisedTensor) {
  // The first one is a float matrix, too, with an unknown shape.
  const auto seen = see({tensor({1, 33, 777}, "features"), tensor({1, 84, 8400})});
  expect_family(seen, "yolov8", 8400, 80);
  EXPECT_EQ(seen->layout[FieldId::kBox].tensor, 1);
  EXPECT_EQ(seen->layout[FieldId::kScores].tensor, 1);
}

TEST(Recognise, LabelsDecideAboutObjectness) {
  expect_family(see({tensor({1, 8400, 15})}, {.label_count = 11}), "yolov8", 8400, 11);
  expect_family(see({tensor({1, 8400, 15})}, {.label_count = 10}), "yolox", 8400, 10);
}

TEST(Recognise, TheFrameDecidesBetweenOneAndThreeAnchors) {
  // 25,200 anchors are three per cell of 640x640, or one per cell of 1280x960.
  expect_family(see({tensor({1, 25200, 84})}, {.frame = {1280, 960}}), "yolov8", 25200, 80);
  expect_family(see({tensor({1, 25200, 85})}, {.frame = {640, 640}}), "yolov5", 25200, 80);
  const auto either = see({tensor({1, 25200, 85})}, {.frame = {1280, 960}});
  ASSERT_FALSE(either);
  EXPECT_EQ(either.error().kind, ErrorKind::kAmbiguous);
  EXPECT_NE(either.error().message().find("yolov5 (80 classes), yolox (80 classes)"),
            std::string::npos);
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
  request.class_count = 3;
  const auto seen = see({tensor({1, 6, 4}), tensor({1, 6, 5})}, request);
  ASSERT_FALSE(seen);
  EXPECT_NE(seen.error().expected.find("scores 1xNx4"), std::string::npos) << seen.error().expected;
  EXPECT_NE(seen.error().hint.find("num-classes="), std::string::npos) << seen.error().hint;
  request.class_count = 4;
  EXPECT_TRUE(see({tensor({1, 6, 4}), tensor({1, 6, 5})}, request));
}

TEST(Recognise, RejectsMoreAnchorsOrClassesThanKeysHold) {
  EXPECT_FALSE(see({tensor({1, 84, (1u << 21) + 1}, "yolo-v8-out")}));
  EXPECT_FALSE(see({tensor({1, 5000, 8400}, "yolo-v8-out")}));
  EXPECT_FALSE(see({tensor({1, 6, 4}), tensor({1, 6, 0})}, {.detector = "ssd"})) << "no scores";
}

TEST(Recognise, UsesOnlyNamedTensors) {
  const std::vector<std::string> ids{"second"};
  const auto seen =
      see({tensor({1, 25200, 85}, "first"), tensor({1, 84, 8400}, "second")}, {.tensor_ids = ids});
  expect_family(seen, "yolov8", 8400, 80);
  EXPECT_EQ(seen->layout[FieldId::kBox].tensor, 1);
  const std::vector<std::string> absent{"third"};
  const auto error = see({tensor({1, 25200, 85}, "first")}, {.tensor_ids = absent});
  ASSERT_FALSE(error);
  EXPECT_NE(error.error().message().find("third"), std::string::npos);
}

TEST(Recognise, NamedTensorsTakeRolesInOrder) {
  const std::vector<std::string> ids{"b", "s", "c", "n"};
  const auto seen =
      see({tensor({1, 10}, "s"), tensor({1, 10}, "c"), tensor({1, 10, 4}, "b"), tensor({1}, "n")},
          {.detector = "ssd-postprocess", .tensor_ids = ids});
  ASSERT_TRUE(seen) << seen.error().message();
  EXPECT_EQ(seen->layout[FieldId::kBox].tensor, 2);
  EXPECT_EQ(seen->layout[FieldId::kScore].tensor, 0);
  EXPECT_EQ(seen->layout[FieldId::kClassId].tensor, 1);
  EXPECT_EQ(seen->layout[FieldId::kCount].tensor, 3);
}

TEST(Recognise, ReadsABatch) {
  const auto seen = see({tensor({4, 84, 8400}, "yolo-v8-out")});
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->layout.images, 4u);
  EXPECT_EQ(seen->layout[FieldId::kBox].image_stride, 84u * 8400u);
}

TEST(Recognise, AcceptsAnEmptyTensor) {
  const auto seen = see({tensor({1, 0, 6}, "yolo-26-end2end-out")});
  ASSERT_TRUE(seen) << seen.error().message();
  EXPECT_EQ(seen->layout.anchors, 0u);
}

TEST(Recognise, RejectsMapsWithoutImages) {
  for (const size_t images : {1, 0}) {
    std::vector<TensorView> levels;
    for (const size_t side : {80, 40, 20}) levels.push_back(tensor({images, 144, side, side}));
    EXPECT_EQ(see(levels, {.detector = "yolov8-heads"}).has_value(), images == 1);
  }
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

TEST(Grid, CountsCells) {
  const DetectorSpec& yolov8 = *find_detector("yolov8");
  EXPECT_EQ(grid_anchors({640, 640}, yolov8), 8400u);
  EXPECT_EQ(grid_anchors({416, 416}, yolov8), 3549u);
  EXPECT_EQ(square_input(8400, yolov8), (Size{640, 640}));
  EXPECT_EQ(square_input(25200, *find_detector("yolov5")), (Size{640, 640}));
  EXPECT_EQ(square_input(8401, yolov8), (Size{}));
  EXPECT_EQ(likely_input({1, 6300, 85}), (Size{320, 320}));
  EXPECT_EQ(likely_input({1, 300, 6}), (Size{}));
}

}  // namespace
}  // namespace keepbox
