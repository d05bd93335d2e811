// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of families, and the published shapes of their models.
#include "core/model/detector.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/recognition/fit.h"
#include "core/recognition/layout.h"
#include "core/recognition/recognise.h"

namespace keepbox {
namespace {

TEST(Detectors, HaveUniqueNamesAndSummaries) {
  std::set<std::string_view> names;
  for (const DetectorSpec& spec : detectors()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_FALSE(spec.summary.empty()) << spec.name;
    EXPECT_EQ(find_detector(spec.name), &spec);
    EXPECT_GE(spec.tensor_count, 1u);
  }
  EXPECT_EQ(find_detector("auto"), nullptr);
}

TEST(Detectors, ShareIdsOnlyForYolox) {
  std::set<std::string_view> ids;
  for (const DetectorSpec& spec : detectors())
    for (const TensorRule& rule : spec.rules())
      for (const std::string_view id : rule.ids)
        if (!id.empty() && spec.name != "yolox-decoded" && id != "bbox_*" && id != "kps_*") {
          EXPECT_TRUE(ids.insert(id).second) << id;
        }
}

TEST(Detectors, HaveADecodedTwinOfTheSameTensors) {
  size_t twins = 0;
  for (const DetectorSpec& spec : detectors()) {
    if (spec.decoded_twin.empty()) continue;
    ++twins;
    const DetectorSpec* twin = find_detector(spec.decoded_twin);
    ASSERT_NE(twin, nullptr) << spec.name;
    EXPECT_TRUE(has_cells(spec.coding) && !has_cells(twin->coding)) << spec.name;
    EXPECT_EQ(twin->columns.objectness, spec.columns.objectness) << spec.name;
    EXPECT_EQ(twin->columns.classes, spec.columns.classes) << spec.name;
    EXPECT_EQ(twin->strides, spec.strides) << spec.name;
    EXPECT_EQ(twin->input.bgr, spec.input.bgr) << spec.name;
  }
  EXPECT_EQ(twins, 1u);
}

TEST(Detectors, HaveOneExportPerFormOfATask) {
  std::set<std::tuple<Exporter, std::string_view, std::string_view, OutputForm>> known;
  std::set<std::string_view> inputs;
  for (const DetectorSpec& spec : detectors())
    for (const Export& each : spec.exports) {
      EXPECT_NE(each.exporter == Exporter::kUnknown, each.size_input.empty()) << spec.name;
      if (each.size_input.empty()) {
        EXPECT_TRUE(known.insert({each.exporter, each.task, each.head, each.form}).second)
            << spec.name;
      } else {
        EXPECT_TRUE(inputs.insert(each.size_input).second) << spec.name;
      }
      EXPECT_TRUE(each.input.known() || spec.input.known()) << spec.name;
      if (each.exporter == Exporter::kUltralytics)
        EXPECT_EQ(each.head.empty(), each.words[0].empty()) << spec.name;
    }
  EXPECT_GE(known.size(), 12u);
  EXPECT_EQ(inputs, (std::set<std::string_view>{"orig_target_sizes", "scale_factor"}));
}

TEST(Detectors, NameTheOutputsOfTheirExports) {
  for (const DetectorSpec& spec : detectors())
    for (const Export& each : spec.exports)
      for (const ExportOutput& output : std::span(each.outputs).first(each.output_count)) {
        const auto rule = std::ranges::find(spec.rules(), output.role, &TensorRule::role);
        ASSERT_NE(rule, spec.rules().end()) << spec.name;
        EXPECT_FALSE(rule->ids[0].empty()) << spec.name;
      }
}

TEST(Detectors, FindAFamilyByAnyOfItsIds) {
  const std::vector<std::string> ids{"other", "yolo-26-end2end-out", "yolo-v8-out"};
  ASSERT_NE(find_detector_by_ids(ids), nullptr);
  EXPECT_EQ(find_detector_by_ids(ids)->name, "yolov8") << "the first in the table";
  EXPECT_EQ(find_detector_by_ids(std::span(ids).first(1)), nullptr);
  EXPECT_EQ(find_detector_by_ids({}), nullptr);
}

TEST(Detectors, MatchATensorToItsLevel) {
  const TensorRule rule{.ids = {"cls_*", "class"}};
  EXPECT_TRUE(rule.has("cls_16", 16));
  EXPECT_FALSE(rule.has("cls_16", 8));
  EXPECT_FALSE(rule.has("cls_16"));
  EXPECT_TRUE(rule.has("class", 8));
  EXPECT_FALSE(rule.has(""));
}

TEST(Detectors, FindTheRuleWithATensorsScale) {
  DetectorSpec spec{.name = "scaled", .reader = Reader::kSplit};
  spec.tensors = {
      TensorRule{.role = Role::kBoxes, .ids = {"box_*", "boxes"}, .plain = {"b"}, .scale = 0.5f},
      TensorRule{.role = Role::kScores, .ids = {"scores"}, .scale = 0.25f}};
  spec.tensor_count = 2;
  spec.strides = {8, 16};
  const auto scale = [&](const char* id, const std::vector<std::string>& listed = {}) {
    const TensorRule* rule = quantization_of(spec, id, listed);
    return rule != nullptr ? rule->scale : 0;
  };
  for (const char* id : {"boxes", "box_8", "box_16", "b"}) EXPECT_EQ(scale(id), 0.5f) << id;
  EXPECT_EQ(scale("scores"), 0.25f);
  EXPECT_EQ(scale("box_32"), 0) << "not a level of the family";
  // In a list, by position and level; the family's ids no longer match.
  EXPECT_EQ(scale("p", {"p", "q"}), 0.5f);
  EXPECT_EQ(scale("q", {"p", "q"}), 0.25f);
  EXPECT_EQ(scale("q", {"p", "q", "r", "s"}), 0.5f);
  EXPECT_EQ(scale("r", {"p", "q", "r", "s"}), 0.25f);
  EXPECT_EQ(scale("boxes", {"p", "q"}), 0);
  EXPECT_EQ(scale("q", {"p"}), 0) << "fewer than the family's tensors";
  EXPECT_EQ(scale("r", {"p", "q", "r"}), 0) << "more than the family's tensors";
}

struct Published {
  const char* name;
  std::vector<Shape> shapes;
  uint32_t anchors, classes;
};

const Published kPublished[] = {
    {"yolov3-heads", {{1, 255, 13, 13}, {1, 255, 26, 26}, {1, 255, 52, 52}}, 10647, 80},
    {"yolov3-tiny-heads", {{1, 255, 13, 13}, {1, 255, 26, 26}}, 2535, 80},
    {"yolov4", {{1, 10647, 1, 4}, {1, 10647, 80}}, 10647, 80},
    {"yolov5-heads", {{1, 3, 80, 80, 85}, {1, 3, 40, 40, 85}, {1, 3, 20, 20, 85}}, 25200, 80},
    {"yolov5-heads", {{1, 80, 80, 255}, {1, 40, 40, 255}, {1, 20, 20, 255}}, 25200, 80},
    {"yolov5-heads", {{1, 255, 80, 80}, {1, 255, 40, 40}, {1, 255, 20, 20}}, 25200, 80},
    {"yolov8-heads", {{1, 144, 80, 80}, {1, 144, 40, 40}, {1, 144, 20, 20}}, 8400, 80},
    {"yolov8-heads", {{1, 80, 80, 144}, {1, 40, 40, 144}, {1, 20, 20, 144}}, 8400, 80},
    {"yolov8-heads", {{1, 144, 8400}}, 8400, 80},
    {"yolov8-heads-split",
     {{1, 64, 80, 80},
      {1, 80, 80, 80},
      {1, 64, 40, 40},
      {1, 80, 40, 40},
      {1, 64, 20, 20},
      {1, 80, 20, 20}},
     8400,
     80},
    {"yolov8-rknn",
     {{1, 64, 80, 80},
      {1, 80, 80, 80},
      {1, 1, 80, 80},
      {1, 64, 40, 40},
      {1, 80, 40, 40},
      {1, 1, 40, 40},
      {1, 64, 20, 20},
      {1, 80, 20, 20},
      {1, 1, 20, 20}},
     8400,
     80},
    {"yolo-nas", {{1, 8400, 4}, {1, 8400, 80}}, 8400, 80},
    {"ppyoloe", {{1, 8400, 4}, {1, 80, 8400}}, 8400, 80},
    {"nanodet-plus", {{1, 3598, 112}}, 3598, 80},
    {"picodet",
     {{1, 1600, 80},
      {1, 400, 80},
      {1, 100, 80},
      {1, 25, 80},
      {1, 1600, 32},
      {1, 400, 32},
      {1, 100, 32},
      {1, 25, 32}},
     2125,
     80},
    {"detr", {{1, 100, 4}, {1, 100, 92}}, 100, 92},
    {"rt-detr", {{1, 300, 80}, {1, 300, 4}}, 300, 80},
    {"rf-detr", {{1, 300, 4}, {1, 300, 91}}, 300, 91},
    {"rtdetr-ultralytics", {{1, 300, 84}}, 300, 80},
    {"ssd300", {{1, 8732, 4}, {1, 8732, 91}}, 8732, 91},
    {"ssdlite320", {{1, 3234, 4}, {1, 3234, 91}}, 3234, 91},
    {"retinanet", {{1, 120087, 4}, {1, 120087, 91}}, 120087, 91},
    {"retinanet",
     {{1, 36, 80, 80},
      {1, 819, 80, 80},
      {1, 36, 40, 40},
      {1, 819, 40, 40},
      {1, 36, 20, 20},
      {1, 819, 20, 20},
      {1, 36, 10, 10},
      {1, 819, 10, 10},
      {1, 36, 5, 5},
      {1, 819, 5, 5}},
     76725,
     91},
    {"efficientdet", {{1, 49104, 90}, {1, 49104, 4}}, 49104, 90},
    {"fcos", {{1, 13343, 91}, {1, 13343, 4}, {1, 13343, 1}}, 13343, 91},
    {"scrfd",
     {{12800, 1},
      {3200, 1},
      {800, 1},
      {12800, 4},
      {3200, 4},
      {800, 4},
      {12800, 10},
      {3200, 10},
      {800, 10}},
     16800,
     1},
    {"scrfd", {{12800, 1}, {3200, 1}, {800, 1}, {12800, 4}, {3200, 4}, {800, 4}}, 16800, 1},
    {"retinaface", {{1, 16800, 4}, {1, 16800, 2}, {1, 16800, 10}}, 16800, 2},
    {"yunet",
     {{1, 6400, 1},
      {1, 1600, 1},
      {1, 400, 1},
      {1, 6400, 1},
      {1, 1600, 1},
      {1, 400, 1},
      {1, 6400, 4},
      {1, 1600, 4},
      {1, 400, 4},
      {1, 6400, 10},
      {1, 1600, 10},
      {1, 400, 10}},
     8400,
     1},
    {"blazeface", {{1, 896, 16}, {1, 896, 1}}, 896, 1},
    {"blazeface-full", {{1, 2304, 16}, {1, 2304, 1}}, 2304, 1},
    {"palm", {{1, 2016, 18}, {1, 2016, 1}}, 2016, 1},
    {"palm-256", {{1, 2944, 18}, {1, 2944, 1}}, 2944, 1},
    {"pose-detector", {{1, 2254, 12}, {1, 2254, 1}}, 2254, 1},
    {"centerface",
     {{1, 1, 120, 160}, {1, 2, 120, 160}, {1, 2, 120, 160}, {1, 10, 120, 160}},
     19200,
     1},
    {"centernet", {{1, 80, 128, 128}, {1, 2, 128, 128}, {1, 2, 128, 128}}, 16384, 80},
    {"deepstream-yolo", {{1, 8400, 6}}, 8400, 0},
    {"detection-output", {{1, 1, 100, 7}}, 100, 0},
    {"yolov7-end2end", {{17, 7}}, 17, 0},
};

std::vector<TensorView> views(const Published& model) {
  std::vector<TensorView> out;
  for (const Shape& shape : model.shapes) out.push_back({.shape = shape});
  return out;
}

TEST(Detectors, FitTheirPublishedShapes) {
  for (const Published& model : kPublished) {
    const auto tensors = views(model);
    const auto layout = fit(*find_detector(model.name), tensors, {});
    ASSERT_TRUE(layout) << model.name << ": " << layout.error().message();
    EXPECT_EQ(layout->anchors, model.anchors) << model.name;
    EXPECT_EQ(layout->classes, model.classes) << model.name;
    uint32_t next = 0;
    for (const Segment& segment : layout->segments) {
      EXPECT_EQ(segment.first, next) << model.name;
      next += segment.count;
    }
    EXPECT_EQ(next, model.anchors) << model.name;
  }
}

/// Sets of tensors that fit only one family as long as values are unknown.
TEST(Detectors, AreRecognisedByUniqueShapes) {
  const auto known = [](const char* name) {
    for (const Published& model : kPublished) {
      if (model.name != std::string_view(name)) continue;
      const auto tensors = views(model);
      const auto seen = recognise(tensors, {.frame = {640, 640}});
      ASSERT_TRUE(seen) << name << ": " << seen.error().message();
      EXPECT_EQ(seen->layout.spec->name, name);
    }
  };
  for (const char* name : {"picodet", "scrfd", "yunet", "blazeface", "blazeface-full", "palm",
                           "palm-256", "pose-detector", "centerface", "centernet", "fcos"})
    known(name);
}

TEST(Detectors, AreAllListedIfShapesAreAmbiguous) {
  std::vector<TensorView> tensors;
  for (const size_t side : {80, 40, 20}) tensors.push_back({.shape = {1, 255, side, side}});
  const auto seen = recognise(tensors, {.frame = {640, 640}});
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().kind, ErrorKind::kAmbiguous);
  for (const char* name : {"yolov3-heads", "yolov4-heads", "yolov5-heads", "yolov7-heads"})
    EXPECT_NE(seen.error().message().find(name), std::string::npos) << seen.error().message();
  EXPECT_EQ(seen.error().message().find("yolov8"), std::string::npos) << seen.error().message();
}

}  // namespace
}  // namespace keepbox
