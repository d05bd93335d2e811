// SPDX-License-Identifier: LGPL-2.1-or-later
// Recognition by id and by shape.
#include "core/recognition/layout.h"
#include "core/recognition/maps.h"
#include "core/recognition/recognise.h"

#include <gtest/gtest.h>

#include <vector>
#include "tests/unit/core/recognition/recognising.h"

namespace keepbox {
namespace {

using test::expect_family;
using test::see;
using test::tensor;

TEST(Recognise, RecognisesFamiliesByTensorId) {
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
  EXPECT_NE(open.error().message().find("ppyoloe (1 class)"), std::string::npos) << "or planes";
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

TEST(Recognise, ByTheProducersDeclaration) {
  const TensorView rows = tensor({1, 30, 777});
  const auto declared = see({rows}, {.declared = "yolov8"});
  expect_family(declared, "yolov8", 777, 26);
  EXPECT_EQ(declared->basis, Basis::kNamed) << "may be rejected by values";
  expect_family(see({tensor({1, 300, 6}, "yolo-26-end2end-out")}, {.declared = "paddle"}), "paddle",
                300, 0);
  expect_family(see({tensor({1, 300, 6})}, {.detector = "yolo26", .declared = "paddle"}), "yolo26",
                300, 0);
  expect_family(see({tensor({1, 84, 8400})}, {.declared = "a family to come"}), "yolov8", 8400, 80);
  EXPECT_FALSE(see({tensor({1, 84, 8400})}, {.declared = "ssd"}));
  const std::vector<std::string> ids{"x"};
  expect_family(see({tensor({1, 84, 8400}, "x")}, {.declared = "ssd", .tensor_ids = ids}), "yolov8",
                8400, 80);
}

TEST(Recognise, RecognisesFamiliesByShape) {
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
  const auto fewer = see({tensor({1, 10, 4}, "b"), tensor({1, 10}, "s")},
                         {.detector = "ssd-postprocess", .tensor_ids = {ids.data(), 2}});
  ASSERT_TRUE(fewer) << fewer.error().message();
  EXPECT_EQ(fewer->layout[FieldId::kClassId].tensor, -1) << "optional tensors are not named";
  EXPECT_EQ(fewer->layout[FieldId::kCount].tensor, -1);
}

TEST(Recognise, ReadsABatch) {
  const auto seen = see({tensor({4, 84, 8400}, "yolo-v8-out")});
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->layout.images, 4u);
  EXPECT_EQ(seen->layout[FieldId::kBox].image_stride, 84u * 8400u);
}

TEST(Recognise, ReadsOneScorePerAnchor) {
  const auto seen = see({tensor({300, 4}), tensor({300})}, {.detector = "yolo-nas"});
  expect_family(seen, "yolo-nas", 300, 1);
  EXPECT_EQ(seen->layout[FieldId::kScores].at(0, 2), 2u);
}

TEST(Recognise, AcceptsAnEmptyTensor) {
  const auto seen = see({tensor({1, 0, 6}, "yolo-26-end2end-out")});
  ASSERT_TRUE(seen) << seen.error().message();
  EXPECT_EQ(seen->layout.anchors, 0u);
}

TEST(Grid, CountsCells) {
  const DetectorSpec& yolov8 = *find_detector("yolov8");
  EXPECT_EQ(grid_anchors({640, 640}, yolov8), 8400u);
  EXPECT_EQ(grid_anchors({416, 416}, yolov8), 3549u);
  EXPECT_EQ(usual_input(8400, yolov8), (Size{640, 640}));
  EXPECT_EQ(usual_input(25200, *find_detector("yolov5")), (Size{640, 640}));
  EXPECT_EQ(usual_input(8401, yolov8), (Size{}));
  EXPECT_EQ(likely_input({1, 6300, 85}), (Size{320, 320}));
  EXPECT_EQ(likely_input({1, 300, 6}), (Size{}));
}

}  // namespace
}  // namespace keepbox
