// SPDX-License-Identifier: LGPL-2.1-or-later
// Recorded tensors of real models, compared with boxes of an independent float32 reference.
#include "tests/recorded.h"

#include <gtest/gtest.h>

#include "gst/decode/settings.h"
#include "gst/tensors/labels.h"
#include "tests/scene.h"

namespace keepbox {
namespace {

Settings settings_for(const test::Recorded& entry) {
  Settings settings;
  settings.score_threshold = entry.score_threshold;
  settings.iou_threshold = entry.iou_threshold;
  settings.frame.size = {entry.width, entry.height};
  if (entry.detector == "ssd") {
    auto priors = load_priors((test::data_folder() / "nnstreamer/box_priors.txt").c_str());
    EXPECT_TRUE(priors) << priors.error().message();
    settings.priors = std::move(*priors);
  }
  return settings;
}

TEST(Recorded, BoxesMatchTheReference) {
  if (!test::have_data()) GTEST_SKIP() << "no recorded tensors on this machine";
  for (const test::Recorded& entry : test::recorded()) {
    SCOPED_TRACE(entry.name);
    std::vector<std::vector<char>> files;
    std::vector<TensorView> views;
    for (size_t i = 0; i < entry.files.size(); ++i) {
      files.push_back(test::read_file(entry.files[i]));
      views.push_back({.data = files.back().data(),
                       .bytes = files.back().size(),
                       .shape = Shape(std::span<const size_t>(entry.dims[i]))});
    }
    auto processor = test::make_processor(settings_for(entry), views);
    ASSERT_TRUE(processor) << processor.error().message();
    EXPECT_EQ(processor->plan().spec->name, entry.detector) << processor->plan().remark;
    EXPECT_TRUE(processor->plan().warnings.empty()) << processor->plan().warnings[0].message();
    ASSERT_TRUE(processor->run(views));
    EXPECT_EQ(processor->funnel().after_class_filter, entry.candidates);
    const auto found = processor->detections();
    ASSERT_EQ(found.size(), entry.boxes.size());
    for (size_t i = 0; i < found.size(); ++i) {
      const auto& box = entry.boxes[i];
      EXPECT_EQ(found[i].anchor, box["anchor"]);
      EXPECT_EQ(found[i].class_id, box["class"]);
      EXPECT_NEAR(found[i].score, box["score"].get<float>(), 1e-5);
      const Box want{box["xyxy"][0], box["xyxy"][1], box["xyxy"][2], box["xyxy"][3]};
      const Box clipped = clip(want, {entry.width, entry.height});
      EXPECT_NEAR(found[i].box.x1, clipped.x1, 1e-3);
      EXPECT_NEAR(found[i].box.y1, clipped.y1, 1e-3);
      EXPECT_NEAR(found[i].box.x2, clipped.x2, 1e-3);
      EXPECT_NEAR(found[i].box.y2, clipped.y2, 1e-3);
    }
  }
}

TEST(Recorded, YoloxReadAsYolov8IsAWarning) {
  if (!test::have_data()) GTEST_SKIP() << "no recorded tensors on this machine";
  for (const test::Recorded& entry : test::recorded()) {
    if (entry.detector != "yolox") continue;
    const auto file = test::read_file(entry.files[0]);
    const TensorView view{.data = file.data(),
                          .bytes = file.size(),
                          .shape = Shape(std::span<const size_t>(entry.dims[0]))};
    Settings settings = settings_for(entry);
    settings.detector = "yolov8";
    const auto plan = make_plan(settings, {&view, 1});
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->warnings.size(), 1u) << entry.name;
  }
}

}  // namespace
}  // namespace keepbox
