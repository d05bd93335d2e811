// SPDX-License-Identifier: LGPL-2.1-or-later
// Models exported by known projects.
#include "gst/infer/facts/exports.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/model/detector.h"
#include "gst/infer/run/inferencer.h"
#include "tests/unit/infer/declaration.h"

namespace keepbox {
namespace {

using test::described;
using test::Dims;
using test::facts_of;
using test::kYolov8;
using test::model;
using test::port;
using test::Three;
using test::ultralytics;

TEST(Families, IdentifyUltralyticsDetectors) {
  const ModelFacts facts = facts_of(kYolov8);
  EXPECT_EQ(facts.image_input, 0u);
  EXPECT_EQ(facts.input.size, (Size{640, 640}));
  EXPECT_EQ(facts.input.type, DataType::kFloat32);
  EXPECT_FALSE(facts.input.channels_last);
  EXPECT_EQ(facts.input.channels, 3);
  EXPECT_FALSE(facts.input.bgr);
  EXPECT_EQ(facts.input.mean, (Three{0, 0, 0}));
  EXPECT_EQ(facts.input.deviation, (Three{255, 255, 255}));
  EXPECT_EQ(facts.input.pad, 114);
  EXPECT_EQ(facts.resize, ResizeMode::kLetterboxCenter);
  EXPECT_TRUE(facts.size_inputs.empty());
  ASSERT_EQ(facts.outputs.size(), 1u);
  EXPECT_EQ(facts.outputs[0].id, "yolo-v8-out");
  EXPECT_TRUE(facts.outputs[0].column_major);
  EXPECT_EQ(facts.name, "some.v1");
  EXPECT_EQ(facts.detector, "yolov8");
  EXPECT_EQ(facts.units, Units::kPixels);
  EXPECT_EQ(facts.contract, "ultralytics");
  EXPECT_EQ(facts.iou_threshold, 0.7f);
  EXPECT_EQ(facts.labels, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(facts.remark,
            "RGB, 0..1, letterbox-center, pad 114: by Ultralytics metadata; "
            "2 class names from metadata");
}

struct TaskCase {
  const char *task, *names;
  std::vector<ModelPort> outputs;
  std::map<std::string, std::string> more;
  std::vector<std::string> ids;
  bool column_major;
};

/// Returns the family of those ids of the registry.
std::string detector_by(const std::string& id) {
  const std::map<std::string, std::string> known{
      {"yolo-v8-out", "yolov8"},
      {"yolo-26-end2end-out", "yolo26"},
      {"yolo-v8-segmentation-out-detections", "yolov8-seg"},
      {"yolo-v8-pose-out", "yolov8-pose"},
      {"yolo-v8-obb-out", "yolov8-obb"},
      {"yolo-26-obb-end2end-out", "yolo26-obb"},
      {"yolo-26-pose-end2end-out", "yolo26-pose"},
      {"yolo-26-segmentation-end2end-out-detections", "yolo26-seg"}};
  const auto found = known.find(id);
  return found == known.end() ? "" : found->second;
}

TEST(Families, NameTheOutputsOfUltralyticsTasks) {
  const char *two = "['a', 'b']", *broken = "[";
  const auto protos = port("output1", {1, 32, 160, 160});
  const TaskCase cases[] = {
      {"detect",
       two,
       {port("output0", {1, 300, 6})},
       {{"end2end", "True"}},
       {"yolo-26-end2end-out"},
       false},
      {"detect", two, {port("output0", {1, 300, 6})}, {}, {"yolo-26-end2end-out"}, false},
      {"detect",
       two,
       {port("o", {-1, -1, -1})},
       {{"args", "{'nms': True}"}},
       {"yolo-26-end2end-out"},
       false},
      {"detect", two, {port("o", {-1, -1, -1})}, {}, {"yolo-v8-out"}, true},
      {"detect", two, {port("o", {1, 6, -1})}, {}, {"yolo-v8-out"}, true},
      {"detect", two, {port("o", {1, 6, 21})}, {}, {"yolo-v8-out"}, true},
      {"detect", broken, {port("o", {1, 84, 8400})}, {}, {"yolo-v8-out"}, true},
      {"detect", broken, {port("o", {1, 8400, 84})}, {}, {"o"}, false},
      {"detect", two, {port("o", {1, 84, 8400})}, {}, {"o"}, false},
      {"detect", two, {port("o", {1, 1, 8400})}, {}, {"o"}, false},
      {"detect", two, {port("o", {1, 300, 7})}, {{"end2end", "True"}}, {"o"}, false},
      {"detect", two, {port("o", {1, 6, 6})}, {}, {"yolo-26-end2end-out"}, false},
      {"detect", two, {port("o", {1, 6, 20})}, {}, {"yolo-v8-out"}, true},
      {"detect", broken, {port("o", {1, 84, 8400})}, {{"end2end", "True"}}, {"o"}, false},
      {"detect", broken, {port("o", {1, 84, 84})}, {}, {"o"}, false},
      {"detect", broken, {port("o", {1, -1, 84})}, {}, {"yolo-v8-out"}, true},
      {"detect", broken, {port("o", {1, 8400, -1})}, {}, {"yolo-v8-out"}, true},
      {"segment",
       two,
       {port("o", {1, 38, 8400})},
       {},
       {"yolo-v8-segmentation-out-detections"},
       true},
      {"segment",
       two,
       {port("o", {1, 38, 8400}), protos},
       {},
       {"yolo-v8-segmentation-out-detections", "yolo-v8-segmentation-out-protos"},
       true},
      {"segment",
       two,
       {port("o", {1, 300, 38}), protos},
       {},
       {"yolo-26-segmentation-end2end-out-detections", "yolo-v8-segmentation-out-protos"},
       false},
      {"segment",
       two,
       {port("o", {1, 300, 38}), protos},
       {{"end2end", "True"}},
       {"yolo-26-segmentation-end2end-out-detections", "yolo-v8-segmentation-out-protos"},
       false},
      {"pose",
       "['person']",
       {port("o", {1, 56, 8400})},
       {{"kpt_shape", "[17, 3]"}},
       {"yolo-v8-pose-out"},
       true},
      {"pose", "['person']", {port("o", {1, 56, 8400})}, {}, {"yolo-v8-pose-out"}, true},
      {"pose",
       "['person']",
       {port("o", {1, 300, 57})},
       {{"kpt_shape", "[17, 3]"}},
       {"yolo-26-pose-end2end-out"},
       false},
      {"obb", two, {port("o", {1, 7, 8400})}, {}, {"yolo-v8-obb-out"}, true},
      {"obb", two, {port("o", {1, 300, 7})}, {}, {"yolo-26-obb-end2end-out"}, false},
      {"classify", two, {port("o", {1, 2})}, {}, {"o"}, false},
      {"depth", two, {port("o", {1, 1, 640, 640})}, {}, {"o"}, false},
  };
  for (const TaskCase& each : cases) {
    const ModelFacts facts = facts_of(
        model({1, 3, 640, 640}, each.outputs, ultralytics(each.task, each.names, each.more)));
    const std::string name = each.task + (" " + each.outputs[0].to_string());
    ASSERT_EQ(facts.outputs.size(), each.ids.size()) << name;
    for (size_t i = 0; i < each.ids.size(); ++i)
      EXPECT_EQ(facts.outputs[i].id, each.ids[i]) << name;
    EXPECT_EQ(facts.outputs[0].column_major, each.column_major) << name;
    EXPECT_EQ(facts.detector, detector_by(facts.outputs[0].id)) << name;
    const bool boxes = each.task != std::string("classify") && each.task != std::string("depth");
    EXPECT_EQ(facts.warnings.empty(), each.names != std::string(broken)) << name;
    if (facts.outputs[0].id == each.outputs[0].name) {
      EXPECT_SAID(facts.remark, boxes ? "not a known output of task" : " has no boxes");
    }
  }
}

TEST(Families, IdentifyUltralyticsRtDetr) {
  const auto facts_with = [](Dims dims, std::map<std::string, std::string> more) {
    return facts_of(model({1, 3, 640, 640}, {port("output0", dims)},
                          ultralytics("detect", "['a', 'b']", more)));
  };
  const struct {
    Dims dims;
    std::map<std::string, std::string> more;
    const char* family;
  } cases[] = {
      {{1, 300, 6}, {{"head", "RTDETRDecoder"}, {"end2end", "True"}}, "rtdetr-ultralytics-rows"},
      {{1, 300, 6}, {{"description", "Ultralytics RTDETR-l model"}}, "rtdetr-ultralytics"},
      {{1, 300, 6}, {{"head", "RTDETRDecoder"}}, "rtdetr-ultralytics-rows"},
      {{1, 300, 84}, {{"description", "Ultralytics RTDETR-l model"}}, "rtdetr-ultralytics"},
  };
  for (const auto& each : cases) {
    const ModelFacts facts = facts_with(each.dims, each.more);
    EXPECT_EQ(facts.detector, each.family);
    EXPECT_EQ(facts.resize, ResizeMode::kStretch);
    EXPECT_EQ(facts.input.deviation, (Three{255, 255, 255}));
    EXPECT_EQ(facts.units, Units::kNormalized);
    EXPECT_EQ(facts.outputs[0].id, "output0");
    ASSERT_NE(find_detector(facts.detector), nullptr);
    EXPECT_EQ(find_detector(facts.detector)->nms, NmsMethod::kNone);
  }
}

TEST(Families, IdentifyYolov5AndRelatedModels) {
  const std::map<std::string, std::string> metadata{{"stride", "32"}, {"names", "['a', 'b']"}};
  const ModelFacts rows = facts_of(model({1, 3, 640, 640}, {port("o", {1, 25200, 7})}, metadata));
  EXPECT_EQ(rows.detector, "yolov5");
  EXPECT_NE(find_detector(rows.detector), nullptr);
  EXPECT_EQ(rows.units, Units::kPixels);
  EXPECT_EQ(rows.outputs[0].id, "o");
  EXPECT_EQ(rows.labels.size(), 2u);
  const ModelFacts planes = facts_of(model({1, 3, 640, 640}, {port("o", {1, 6, 8400})}, metadata));
  EXPECT_EQ(planes.detector, "");
  EXPECT_EQ(planes.outputs[0].id, "yolo-v8-out");
  const ModelFacts masks = facts_of(model({1, 3, 640, 640}, {port("o", {1, 25200, 39})}, metadata));
  EXPECT_EQ(masks.detector, "");
  EXPECT_SAID(masks.remark, "not a known output for 2 classes");
  const ModelFacts flat = facts_of(model({1, 3, 640, 640}, {port("o", {1, 7})}, metadata));
  EXPECT_EQ(flat.detector, "");
  const ModelFacts unnamed = facts_of(
      model({1, 3, 640, 640}, {port("o", {1, 25200, 5})}, {{"stride", "32"}, {"names", "["}}));
  EXPECT_EQ(unnamed.detector, "") << "the number of classes is not known";
}

std::map<std::string, std::string> libre_yolo(const char* family, const char* pad = "") {
  std::map<std::string, std::string> out{{"libreyolo_version", "1.6.0"},
                                         {"model_family", family},
                                         {"task", "detect"},
                                         {"imgsz", "640"},
                                         {"names", R"({"0": "person", "1": "car"})"}};
  if (*pad != 0) out["letterbox_pad"] = pad;
  return out;
}

TEST(Families, IdentifyLibreYolo) {
  const auto planes = port("output", {1, 6, 8400}), rows = port("output", {1, 8400, 6});
  const auto of = [](const ModelPort& output, std::map<std::string, std::string> metadata) {
    return facts_of(model({1, 3, 640, 640}, {output}, std::move(metadata)));
  };
  const ModelFacts nine = of(planes, libre_yolo("yolo9"));
  EXPECT_EQ(nine.detector, "yolo-corners");
  EXPECT_EQ(nine.outputs[0].id, "yolo-corners-out");
  EXPECT_TRUE(nine.outputs[0].column_major);
  EXPECT_EQ(nine.resize, ResizeMode::kLetterboxTopLeft);
  EXPECT_EQ(nine.input.deviation, (Three{255, 255, 255}));
  EXPECT_EQ(nine.contract, "");
  EXPECT_EQ(nine.labels, (std::vector<std::string>{"person", "car"}));
  EXPECT_TRUE(nine.warnings.empty()) << nine.warnings[0];
  EXPECT_EQ(of(planes, libre_yolo("yolo9", "center")).resize, ResizeMode::kLetterboxCenter);
  const ModelFacts rtmdet = of(rows, libre_yolo("rtmdet"));
  EXPECT_EQ(rtmdet.detector, "yolo-corners");
  EXPECT_TRUE(rtmdet.input.bgr);
  EXPECT_EQ(of(rows, libre_yolo("picodet")).resize, ResizeMode::kStretch);
  const ModelFacts other = of(rows, libre_yolo("a family to come"));
  EXPECT_EQ(other.detector, "");
  EXPECT_TRUE(other.unknown) << other.remark;
  EXPECT_EQ(other.labels.size(), 2u);
  // With NMS inside, the tensor before it is used, which is declared.
  const ModelFacts both =
      facts_of(model({1, 3, 640, 640}, {port("rows", {1, 300, 6}), planes}, libre_yolo("yolo9")));
  EXPECT_EQ(both.outputs[0].id, "rows");
  EXPECT_EQ(both.outputs[1].id, "yolo-corners-out");
}

/// Models with the tensors of yolo-corners have several inputs.
TEST(Families, AreNoProofOfTheInputOfCorners) {
  const InputRule input = find_detector("yolo-corners")->input;
  const FamilyOfModel found{.name = "yolo-corners",
                            .input = input,
                            .caveat = std::string(input.caveat),
                            .why = "a trial run"};
  const auto bare = model({1, 3, 640, 640}, {port("output", {1, 6, 8400})});
  const auto facts = settle_model(bare, {}, &found);
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->assumed.contains("LibreYOLO pads with letterbox-topleft")) << facts->assumed;
  EXPECT_EQ(facts_of(model({1, 3, 640, 640}, bare.outputs, libre_yolo("yolo9"))).assumed, "");
}

TEST(Families, ReadTransposedPlanes) {
  const auto of = [](Dims output, const char* names, Dims input = {1, 3, 640, 640}) {
    return facts_of(model(std::move(input), {port("output0", std::move(output))},
                          ultralytics("detect", names)));
  };
  const char *two = "['a', 'b']", *three = "['a', 'b', 'c']";
  for (const auto& [dims, names] : {std::pair<Dims, const char*>{{1, 8400, 6}, two},
                                    {{1, 8400, 7}, three},
                                    {{1, 525, 7}, three},
                                    {{8400, 6}, two}}) {
    const ModelFacts facts = of(dims, names);
    EXPECT_EQ(facts.detector, "yolov8") << names;
    EXPECT_EQ(facts.outputs[0].id, "yolo-v8-out");
    EXPECT_FALSE(facts.outputs[0].column_major);
    EXPECT_TRUE(facts.warnings.empty()) << facts.warnings[0];
  }
  EXPECT_EQ(of({1, 300, 6}, two).detector, "yolo26");
  EXPECT_EQ(of({1, 525, 6}, two, {1, 3, 160, 160}).detector, "yolo26") << "no imgsz";
}

TEST(Families, AllowOutputsWithoutABatch) {
  const ModelFacts facts = facts_of(
      model({1, 3, 640, 640}, {port("output0", {6, 8400})}, ultralytics("detect", "['a', 'b']")));
  EXPECT_EQ(facts.detector, "yolov8");
  EXPECT_TRUE(facts.outputs[0].column_major);
  EXPECT_TRUE(facts.warnings.empty()) << facts.warnings[0];
}

TEST(Families, KnowTasksWithoutBoxes) {
  for (const char* task : {"classify", "depth", "semantic"}) {
    const ModelFacts facts = facts_of(model({1, 3, 640, 640}, {port("output0", {1, 1, 640, 640})},
                                            ultralytics(task, "['a']", {{"a key to come", "{"}})));
    EXPECT_TRUE(facts.warnings.empty()) << facts.warnings[0];
    EXPECT_SAID(facts.remark, std::string("task ") + task + " has no boxes");
  }
  const ModelFacts other = facts_of(model({1, 3, 640, 640}, {port("output0", {1, 6, 8400})},
                                          ultralytics("a task to come", "['a', 'b']")));
  EXPECT_EQ(other.warnings.size(), 1u);
}

TEST(Families, DoNotRelyOnShapes) {
  for (const Dims& dims : {Dims{1, 3549, 85}, Dims{1, 3549, 23}, Dims{1, 85, 3549}})
    for (const char* name : {"output", "outputs"}) {
      const ModelFacts facts = facts_of(model({1, 3, 416, 416}, {port(name, dims)}));
      EXPECT_TRUE(facts.unknown);
      EXPECT_SAID(facts.assumed, "RGB, 0..1, letterbox-center, pad 114, as for most models");
      EXPECT_EQ(facts.detector, "");
      EXPECT_EQ(facts.outputs[0].id, name);
    }
}

TEST(Families, UseTheFamilyOfATrialOrTheUser) {
  const ModelDeclaration plain = model({1, 3, 416, 416}, {port("output", {1, 3549, 85})});
  const DetectorSpec& yolox = *find_detector("yolox");
  const auto with = [&](FamilyOfModel family, const ModelDeclaration& declaration) {
    auto facts = settle_model(declaration, {}, &family);
    EXPECT_TRUE(facts) << facts.error().message();
    return facts ? *facts : ModelFacts{};
  };
  FamilyOfModel family{.name = "yolox", .input = yolox.input, .why = "a trial run"};
  const ModelFacts tried = with(family, plain);
  EXPECT_TRUE(tried.input.bgr);
  EXPECT_EQ(tried.input.deviation, (Three{1, 1, 1}));
  EXPECT_EQ(tried.resize, ResizeMode::kLetterboxTopLeft);
  EXPECT_EQ(tried.input.pad, 114);
  EXPECT_EQ(tried.detector, "yolox");
  EXPECT_EQ(tried.outputs[0].id, "output") << "a detected family is not an id";
  EXPECT_EQ(tried.assumed, "");
  EXPECT_FALSE(tried.unknown);
  // Files override a trial, and the user overrides files.
  EXPECT_EQ(with(family, kYolov8).detector, "yolov8");
  EXPECT_FALSE(with(family, kYolov8).input.bgr);
  family.set = true;
  EXPECT_TRUE(with(family, kYolov8).input.bgr);
  EXPECT_EQ(with(family, kYolov8).detector, "yolov8") << "the decoder has the user's";
  // An uncertain family is reported, but not declared.
  family.set = family.sure = false;
  const ModelFacts guessed = with(family, plain);
  EXPECT_TRUE(guessed.input.bgr);
  EXPECT_EQ(guessed.detector, "");
  EXPECT_SAID(guessed.assumed, "BGR, 0..255, letterbox-topleft, pad 114, as for yolox");
}

TEST(Families, IdentifyYoloxByItsId) {
  const ModelFacts by_id =
      facts_of(described({{.name = "images", .ranges = {{0, 255}, {0, 255}, {0, 255}}},
                          {.name = "out", .id = "yolox-out"}}));
  EXPECT_TRUE(by_id.input.bgr);
  EXPECT_EQ(by_id.input.deviation, (Three{1, 1, 1}));
  EXPECT_EQ(by_id.resize, ResizeMode::kLetterboxTopLeft);
  EXPECT_EQ(by_id.outputs[0].id, "yolox-out");
}

}  // namespace
}  // namespace keepbox
