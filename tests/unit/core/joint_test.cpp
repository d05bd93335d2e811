// SPDX-License-Identifier: LGPL-2.1-or-later
// Plans of several frames in one run.
#include "core/plan/plan.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "core/run/processor.h"
#include "tests/scene.h"

namespace keepbox::jointtest {
namespace {

using test::pixel_settings;
using test::rows;
using test::Tensor;

Tensor two_boxes() { return rows({{10, 20, 50, 60, 0.9f, 0}, {100, 100, 200, 180, 0.6f, 1}}); }

Plan plan_of(const Settings& settings, const Tensor& tensor = two_boxes()) {
  const TensorView view = tensor.view();
  auto plan = make_plan(settings, {&view, 1});
  EXPECT_TRUE(plan) << plan.error().message();
  return plan.value_or(Plan{});
}

Processor joint(const Plan& plan, uint32_t frames) {
  Plan of = joint_plan(plan, frames);
  auto backend = select_backend("reference", of, MemorySpace::kSystem);
  return std::move(*Processor::create(std::move(of), std::move(*backend)));
}

TEST(JointPlans, MapEachFrame) {
  const Tensor first = two_boxes(), second = rows({{10, 20, 50, 60, 0.7f, 0}, {}});
  const Plan plan = plan_of(pixel_settings());
  Processor processor = joint(plan, 3);
  Letterbox half = plan.letterbox;
  half.frame = {320, 320};
  half.scale_x = half.scale_y = 0.5f;
  const Letterbox maps[] = {plan.letterbox, half};
  processor.set_maps(maps);
  const std::vector<TensorView> views{first.view(), second.view()};
  const Status ran = processor.run(views);
  ASSERT_TRUE(ran) << ran.error().message();
  ASSERT_EQ(processor.detections(0).size(), 2u);
  EXPECT_EQ(processor.detections(0)[0].box, (Box{10, 20, 50, 60}));
  ASSERT_EQ(processor.detections(1).size(), 1u);
  EXPECT_EQ(processor.detections(1)[0].box, (Box{5, 10, 25, 30}));
  EXPECT_EQ(processor.detections(1)[0].score, 0.7f);
}

TEST(JointPlans, TakeNoMoreFramesThanPlanned) {
  const Tensor tensor = two_boxes();
  Processor processor = joint(plan_of(pixel_settings()), 2);
  for (const size_t frames : {0, 1, 2, 3}) {
    const std::vector<TensorView> views(frames, tensor.view());
    EXPECT_EQ(processor.run(views).has_value(), frames == 1 || frames == 2) << frames;
  }
}

TEST(JointPlans, CheckTheTensorsOfEachFrame) {
  const Tensor tensor = two_boxes();
  Processor processor = joint(plan_of(pixel_settings()), 2);
  std::vector<TensorView> views(2, tensor.view());
  views[1].bytes -= 1;
  const Status ran = processor.run(views);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind, ErrorKind::kTruncated);
}

TEST(JointPlans, EndWithAStop) {
  const Tensor tensor = two_boxes();
  Processor processor = joint(plan_of(pixel_settings()), 2);
  std::atomic<bool> stop = true;
  processor.stop_by(&stop);
  const std::vector<TensorView> views(2, tensor.view());
  const Status ran = processor.run(views);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind, ErrorKind::kInterrupted);
}

TEST(JointPlans, AreOfFramesWithOneImage) {
  const Settings settings = pixel_settings();
  EXPECT_TRUE(can_join(plan_of(settings)));
  EXPECT_FALSE(can_join(joint_plan(plan_of(settings), 2)));
  Tensor batch = rows({{10, 20, 50, 60, 0.9f, 0}, {}, {10, 20, 50, 60, 0.9f, 0}, {}});
  batch.shape = {2, 2, 6};
  EXPECT_FALSE(can_join(plan_of(settings, batch)));
  Settings tiled = settings;
  const Letterbox map{.frame = {640, 640}, .model = {640, 640}};
  tiled.tiles = {tile_of({0, 0, {640, 640}}, {640, 640}, map)};
  tiled.letterbox = map;
  EXPECT_FALSE(can_join(plan_of(tiled)));
  Settings numbered = settings;
  numbered.detector = "yolov7-end2end";
  const Tensor named{{0, 10, 20, 50, 60, 1, 0.9f, 0, 20, 30, 40, 50, 2, 0.8f}, {2, 7}};
  EXPECT_FALSE(can_join(plan_of(numbered, named))) << "each row has the number of its image";
}

TEST(AlikePlans, DifferAtMostInTheMap) {
  const Settings settings = pixel_settings();
  const Plan plan = plan_of(settings);
  const auto alike = [&](auto change) {
    Settings other = settings;
    other.model_size = settings.frame.size;
    change(other);
    return are_alike(plan, plan_of(other));
  };
  EXPECT_TRUE(alike([](Settings&) {}));
  EXPECT_TRUE(alike([](Settings& s) { s.frame.size = {1280, 720}; }));
  EXPECT_TRUE(alike([](Settings& s) { s.resize_mode = ResizeMode::kLetterboxCenter; }));
  EXPECT_FALSE(alike([](Settings& s) { s.model_size = {320, 320}; }));
  EXPECT_FALSE(alike([](Settings& s) { s.score_threshold = 0.5f; }));
  EXPECT_FALSE(alike([](Settings& s) { s.iou_threshold = 0.5f; }));
  EXPECT_FALSE(alike([](Settings& s) { s.class_thresholds = {{1, 0.3f}}; }));
  EXPECT_FALSE(alike([](Settings& s) { s.exclude_classes = {1}; }));
  EXPECT_FALSE(alike([](Settings& s) { s.track_score_threshold = 0.1f; }));
  EXPECT_FALSE(alike([](Settings& s) { s.max_detections = 1; }));
  EXPECT_FALSE(alike([](Settings& s) { s.nms_contract = "ultralytics"; }));
  EXPECT_FALSE(alike([](Settings& s) { s.filters.min_size = {{20, 20}, {}}; }));
  EXPECT_FALSE(alike([](Settings& s) { s.filters.regions = {{{0, 0, 1, 1}, 1}}; }));
  EXPECT_FALSE(alike([](Settings& s) { s.units = Units::kNormalized; }));
  EXPECT_FALSE(are_alike(plan, plan_of(settings, rows({{}, {}, {}}))));
}

TEST(AdjacentTensors, FollowEachOther) {
  const Tensor tensor = two_boxes();
  TensorView first = tensor.view(), second = first;
  second.data = static_cast<const std::byte*>(first.data) + first.bytes;
  EXPECT_TRUE(are_adjacent({&first, 1}, {&second, 1}));
  EXPECT_FALSE(are_adjacent({&second, 1}, {&first, 1}));
  EXPECT_FALSE(are_adjacent({&first, 1}, {&first, 1}));
  first.bytes += 8;  // memory after the tensor counts for nothing
  EXPECT_TRUE(are_adjacent({&first, 1}, {&second, 1}));
}

}  // namespace
}  // namespace keepbox::jointtest
