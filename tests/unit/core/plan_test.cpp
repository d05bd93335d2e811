// SPDX-License-Identifier: LGPL-2.1-or-later
// Plans: decisions from settings, shapes and values.
#include "core/plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/scene.h"

namespace keepbox {
namespace {

using test::Tensor;

/// Anchors with all four box values equal and scores of 0.5.
Tensor filled(Shape shape, float value, std::string id = {}) {
  Tensor out{std::vector<float>(*shape.count(), std::min(value, 0.5f)), shape, std::move(id)};
  const bool rows = shape[1] > shape[2];
  const size_t anchors = rows ? shape[1] : shape[2], channels = rows ? shape[2] : shape[1];
  for (size_t anchor = 0; anchor < anchors; ++anchor)
    for (size_t channel = 0; channel < std::min<size_t>(channels, 4); ++channel)
      out.values[rows ? anchor * channels + channel : channel * anchors + anchor] = value;
  return out;
}

Settings frame_of(uint32_t width, uint32_t height) {
  Settings settings;
  settings.frame.size = {width, height};
  return settings;
}

Result<Plan> plan_for(const Settings& settings, const Tensor& tensor) {
  const TensorView view = tensor.view();
  return make_plan(settings, std::span(&view, 1));
}

TEST(Plan, DetectsNormalizedCoordinates) {
  const auto plan = plan_for(frame_of(320, 320), filled({1, 84, 2100}, 0.5f));
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->rules.boxes.unit_x, 320);
  EXPECT_FALSE(plan->provisional);
  EXPECT_NE(plan->remark.find("coordinates are in 0..1"), std::string::npos) << plan->remark;
}

TEST(Plan, DetectsPixels) {
  const auto plan = plan_for(frame_of(320, 320), filled({1, 84, 2100}, 100));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->rules.boxes.unit_x, 1);
  EXPECT_FALSE(plan->provisional);
  EXPECT_NE(plan->remark.find("coordinates are in pixels"), std::string::npos) << plan->remark;
}

TEST(Plan, DetectsPixelsInAnyCoordinate) {
  for (size_t channel = 0; channel < 4; ++channel) {
    Tensor tensor = filled({1, 84, 2100}, 0.5f);
    tensor.values[channel * 2100 + 7] = 200;
    const auto plan = plan_for(frame_of(320, 320), tensor);
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->rules.boxes.unit_x, 1) << channel;
  }
}

TEST(Plan, IsProvisionalIfTheFirstFrameIsBlank) {
  const auto plan = plan_for(frame_of(320, 320), filled({1, 84, 2100}, 0));
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->provisional);
}

TEST(Plan, UsesTheUnitsThatAreSet) {
  Settings settings = frame_of(320, 320);
  settings.units = Units::kPixels;
  const auto plan = plan_for(settings, filled({1, 84, 2100}, 0.5f));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->rules.boxes.unit_x, 1);
}

TEST(Plan, DistinguishesDecodedYoloxFromRaw) {
  Tensor raw = filled({1, 3549, 85}, 0.5f, "yolox-out");
  raw.values[2] = -1;  // a logarithm
  auto plan = plan_for(frame_of(416, 416), raw);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->spec->name, "yolox");
  ASSERT_EQ(plan->rules.boxes.level_count, 3u);
  EXPECT_EQ(plan->levels[1].first_anchor, 52u * 52u);
  // log sizes, none of them negative
  plan = plan_for(frame_of(416, 416), filled({1, 3549, 85}, 3.5f, "yolox-out"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->spec->name, "yolox");
  Tensor odd = filled({1, 3549, 85}, 50, "yolox-out");
  odd.values[3] = -1;  // not a size
  EXPECT_FALSE(plan_for(frame_of(416, 416), odd)) << "and no logarithm is 50";
  plan = plan_for(frame_of(416, 416), filled({1, 3549, 85}, 50, "yolox-out"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->spec->name, "yolox-decoded");
}

TEST(Plan, FindsTheModelsInput) {
  const auto square = plan_for(frame_of(1920, 1080), filled({1, 84, 8400}, 100));
  ASSERT_TRUE(square);
  EXPECT_EQ(square->letterbox.model, (Size{640, 640}));
  const auto frame = plan_for(frame_of(640, 384), filled({1, 84, 5040}, 100));
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->letterbox.model, (Size{640, 384}));
  Settings settings = frame_of(1920, 1080);
  for (const Size half : {Size{640, 0}, Size{0, 384}}) {
    settings.model_size = half;
    const auto as_unset = plan_for(settings, filled({1, 84, 8400}, 100));
    ASSERT_TRUE(as_unset);
    EXPECT_EQ(as_unset->letterbox.model, (Size{640, 640}));
  }
  settings.model_size = {640, 384};
  const auto set = plan_for(settings, filled({1, 84, 5040}, 100));
  ASSERT_TRUE(set);
  EXPECT_EQ(set->letterbox.model, (Size{640, 384}));
}

TEST(Plan, FindsTheInputOfMaps) {
  const auto map = [](const char* id, size_t channels) {
    return Tensor{std::vector<float>(channels * 96 * 160), {1, channels, 96, 160}, id};
  };
  const std::vector<Tensor> all{map("hm", 80), map("wh", 2), map("reg", 2)};
  Settings settings = frame_of(1920, 1080);
  settings.detector = "centernet";
  const auto plan = make_plan(settings, std::vector{all[0].view(), all[1].view(), all[2].view()});
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->letterbox.model, (Size{640, 384}));
}

/// Settings of a producer that fitted 1920x1080 into 640x384.
Settings told_settings(Size frame) {
  Settings settings = frame_of(frame.width, frame.height);
  settings.letterbox = Letterbox{{1920, 1080}, {640, 384}, 3, 3, 0, 12};
  return settings;
}

TEST(Plan, UsesTheProducersGeometry) {
  Settings settings = told_settings({1920, 1080});
  settings.model_size = {320, 320};
  settings.resize_mode = ResizeMode::kLetterboxTopLeft;
  const Tensor tensor = filled({1, 84, 5040}, 100);
  auto plan = plan_for(settings, tensor);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->letterbox, *settings.letterbox);
  plan = plan_for(told_settings({960, 1080}), tensor);
  EXPECT_EQ(plan->letterbox, (Letterbox{{960, 1080}, {640, 384}, 1.5f, 3, 0, 12}));
  refit(*plan, {{1920, 540}, {640, 384}, 3, 1, 0, 6}, {}, {960, 1080});
  EXPECT_EQ(plan->letterbox, (Letterbox{{960, 1080}, {640, 384}, 1.5f, 2, 0, 6}));
  // The grid is that of the model: 1.6 times the frame's number of cells, which fits no square.
  settings = told_settings({320, 200});
  settings.declared_detector = "yolox";
  EXPECT_TRUE(plan_for(settings, filled({1, 5040, 85}, 0.5f)));
  const auto other = plan_for(settings, filled({1, 3549, 85}, 0.5f));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message().find("model-size="), std::string::npos);
}

TEST(Plan, ValuesOverrideTheProducersFamily) {
  Settings settings = frame_of(320, 320);
  settings.declared_detector = "yolov8";
  EXPECT_TRUE(plan_for(settings, filled({1, 84, 2100}, 100)));
  Tensor wrong = filled({1, 84, 2100}, 100);
  wrong.values.back() = 7;  // a score
  EXPECT_FALSE(plan_for(settings, wrong));
  settings.detector = "yolov8";  // set
  EXPECT_TRUE(plan_for(settings, wrong));
}

TEST(Plan, WithoutValuesUsesTheProducersFamily) {
  const auto unread = [](std::string_view detector, Units units, Shape shape) {
    Settings settings = frame_of(320, 320);
    settings.declared_detector = detector;
    settings.units = units;
    const int nothing = 0;
    const TensorView view{
        .data = &nothing, .bytes = size_t{1} << 40, .shape = shape, .space = MemorySpace::kCuda};
    return make_plan(settings, std::span(&view, 1));
  };
  const auto plan = unread("yolov8", Units::kNormalized, {1, 84, 2100});
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_FALSE(plan->provisional);
  EXPECT_EQ(plan->rules.boxes.unit_x, 320);
  EXPECT_TRUE(unread("yolov8", Units::kAuto, {1, 84, 2100})->provisional);
  EXPECT_TRUE(unread("yolox", Units::kPixels, {1, 2100, 85})->provisional) << "decoded or not?";
  EXPECT_FALSE(unread("paddle", Units::kAuto, {100, 6})->provisional);
}

TEST(Plan, IgnoresEmptyRowsOfPaddle) {
  Tensor rows{{-1, -1, 0, 0, 0, 0, 3, 0.9f, 10, 20, 30, 40}, {2, 6}, "paddle-rows"};
  const auto plan = plan_for(frame_of(320, 320), rows);
  ASSERT_TRUE(plan) << plan.error().message();
  const auto found = test::detect(frame_of(320, 320), {rows.view()});
  ASSERT_TRUE(found && found->size() == 1);
  EXPECT_EQ((*found)[0].class_id, 3u);
  EXPECT_EQ((*found)[0].box, (Box{10, 20, 30, 40}));
  EXPECT_EQ((*found)[0].anchor, 1u);
  rows.values[1] = 0.9f;
  rows.values[0] = 2;
  rows.values[7] = 5;  // not a probability
  EXPECT_FALSE(plan_for(frame_of(320, 320), rows));
}

TEST(Plan, RejectsAGridThatDoesNotFit) {
  Settings settings = frame_of(640, 480);
  settings.model_size = {640, 480};
  settings.detector = "yolox";
  const auto plan = plan_for(settings, filled({1, 3549, 85}, 0.5f));
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message().find("model-size="), std::string::npos);
}

TEST(Plan, RejectsSettingsOutOfRange) {
  const Tensor tensor = filled({1, 84, 2100}, 100);
  const auto refused = [&](auto change) {
    Settings settings = frame_of(320, 320);
    change(settings);
    const auto plan = plan_for(settings, tensor);
    return !plan && plan.error().kind == ErrorKind::kInvalid &&
           (plan.error().message().contains(". ") ||
            plan.error().message().contains(": "));  // what is wrong, then what to do
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(refused([&](Settings& s) { s.score_threshold = nan; }));
  EXPECT_TRUE(refused([&](Settings& s) { s.iou_threshold = 1.2f; }));
  EXPECT_TRUE(refused([&](Settings& s) { s.iou_threshold = -0.1f; }));
  EXPECT_TRUE(refused([&](Settings& s) { s.iou_threshold = nan; }));
  EXPECT_TRUE(refused([&](Settings& s) { s.class_thresholds = {{0, nan}}; }));
  EXPECT_TRUE(refused([&](Settings& s) { s.class_thresholds = {{99999, 0.5f}}; }));
  EXPECT_TRUE(refused([&](Settings& s) { s.nms_contract = "mine"; }));
  EXPECT_TRUE(refused([&](Settings& s) { s.nms_contract = ""; }));
  EXPECT_TRUE(refused([&](Settings& s) { s.frame.size = {320, 0}; }));
}

TEST(Plan, TakesTheModelsInputForAFrameWithoutASize) {
  const Tensor tensor = filled({1, 84, 2100}, 100);
  const auto shown = plan_for(frame_of(0, 0), tensor);
  ASSERT_TRUE(shown) << shown.error().message();
  EXPECT_EQ(shown->letterbox.model, (Size{320, 320}));
  EXPECT_EQ(shown->letterbox.frame, (Size{320, 320}));
  Settings settings = frame_of(0, 0);
  settings.model_size = {640, 160};
  settings.resize_mode = ResizeMode::kLetterboxCenter;
  const auto set = plan_for(settings, tensor);
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_EQ(set->letterbox.frame, (Size{640, 160}));
  const auto unknown = plan_for(frame_of(0, 0), filled({1, 300, 6}, 0.5f));
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("the size of the frame nor that of the model input"),
            std::string::npos);
}

TEST(Plan, RejectsShortTensors) {
  Tensor tensor = filled({1, 84, 2100}, 100);
  tensor.values.resize(1000);
  const auto plan = plan_for(frame_of(320, 320), tensor);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, ErrorKind::kTruncated);
}

TEST(Plan, NeedsAPriorForEachAnchor) {
  Settings settings = frame_of(300, 300);
  settings.priors.resize(10);
  const Tensor boxes = filled({1, 20, 4}, 0), scores = filled({1, 20, 3}, 0);
  const TensorView views[] = {boxes.view(), scores.view()};
  const auto plan = make_plan(settings, views);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message().find("priors-file="), std::string::npos);
}

TEST(Plan, HoldsOnlyForTheSameTensors) {
  const Tensor tensor = filled({1, 84, 2100}, 100, "yolo-v8-out");
  const auto plan = plan_for(frame_of(320, 320), tensor);
  ASSERT_TRUE(plan);
  TensorView view = tensor.view();
  EXPECT_TRUE(plan->holds_for(std::span(&view, 1)));
  EXPECT_FALSE(plan->holds_for({}));
  view.shape = {1, 84, 2101};
  EXPECT_FALSE(plan->holds_for(std::span(&view, 1)));
  view = tensor.view();
  view.type = DataType::kFloat16;
  EXPECT_FALSE(plan->holds_for(std::span(&view, 1)));
  view = tensor.view();
  view.id = "other";
  EXPECT_FALSE(plan->holds_for(std::span(&view, 1)));
}

}  // namespace
}  // namespace keepbox
