// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of several decoders in one run, compared with each decoder alone.
#include "tests/gst/decode/framegroup.h"

#include <functional>
#include <random>
#include <utility>

#include "tests/dense.h"
#include "tests/gst/decode/source.h"

namespace keepbox::grouptest {
namespace {

using test::Finished;
using test::FrameGroups;
using test::Tensor;
using test::with;

GstBuffer* crowd(unsigned seed) { return with({test::crowd(seed)}); }

/// Makes frames for each stream.
auto crowd_of(unsigned batch) {
  return [=](size_t stream) { return crowd(100 * batch + unsigned(stream)); };
}

TEST_F(FrameGroups, AreOneRunOnceTheyHavePlans) {
  add_streams(4);
  for (unsigned batch = 0; batch < 3; ++batch) {
    const auto all = run_each([&](size_t i) { return crowd(10 * batch + unsigned(i)); });
    expect_alike(all, 4);
    EXPECT_EQ(runs_of(all), batch == 0 ? 4u : 1u);
  }
}

TEST_F(FrameGroups, HaveKeypointsMasksAndTrackScores) {
  Tensor maps = test::prototypes(32, 40);
  std::mt19937 random(3);
  for (float& each : maps.values) each = test::uniform_number(random, -1, 1);
  DecodeProps poses{{.detector = "yolov8-pose"}},
      masks{{.detector = "yolov8-seg", .num_classes = 1}};
  for (DecodeProps* each : {&poses, &masks}) {
    each->model_size = "640x640";
    each->track_score_threshold = 0.12f;
  }
  const auto pose = [](size_t i) {
    return with({test::dense({.payload = 51, .number = test::keypoint}, unsigned(i))});
  };
  const auto mask = [&](size_t i) {
    return with({test::dense({.payload = 32}, unsigned(i)), maps});
  };
  for (const auto& [props, make] : {std::pair{poses, std::function<GstBuffer*(size_t)>(pose)},
                                    {masks, std::function<GstBuffer*(size_t)>(mask)}}) {
    add_streams(3, props);
    for (size_t batch = 0; batch < 2; ++batch) {
      const auto all = run_each([&](size_t i) { return make(3 * batch + i); });
      expect_alike(all, 3);
      EXPECT_EQ(runs_of(all), batch == 0 ? 3u : 1u) << props.detector;
    }
    clear_streams();
  }
}

TEST_F(FrameGroups, TakeAnyNumberOfFrames) {
  add_streams(3);
  run_each(crowd_of(0));
  for (const size_t each : {1, 3, 2, 40, 3}) {
    std::vector<std::pair<size_t, GstBuffer*>> frames;
    for (unsigned i = 0; i < 3 * each; ++i) frames.emplace_back(i % 3, crowd(100 + i));
    const auto all = run(frames);
    expect_alike(all, 3 * each);
    EXPECT_EQ(runs_of(all), (3 * each + JointProcessor::kMost - 1) / JointProcessor::kMost);
  }
}

TEST_F(FrameGroups, DecodeABadFrameAlone) {
  add_streams(4);
  run_each(crowd_of(0));
  const auto bad = [](int kind) {
    if (kind == 0) return test::empty_frame().release();
    if (kind == 1) return with({Tensor{{1, 2, 3, 4, 5, 6}, {1, 6}, "yolo-v8-out"}});
    GstBuffer* out = test::empty_frame().release();
    Tensor cut = test::crowd(1);
    cut.values.resize(cut.values.size() - 1);
    test::attach(out, cut);
    return out;
  };
  for (int kind = 0; kind < 3; ++kind)
    for (size_t place = 0; place < 4; ++place) {
      const auto all =
          run_each([&](size_t i) { return i == place ? bad(kind) : crowd(unsigned(i)); });
      ASSERT_EQ(all.size(), 4u);
      uint32_t runs = 0;
      for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(all[i].status.has_value(), i != place) << kind;
        EXPECT_TRUE(all[i].alike) << kind;
        runs += i != place ? all[i].runs : 0;
      }
      EXPECT_EQ(runs, 1u) << kind << " " << place;
      run_each(crowd_of(7));  // the stream of the bad frame plans again
    }
  const auto all = run({{0, bad(0)}, {1, crowd(1)}, {0, crowd(2)}, {1, crowd(3)}});
  EXPECT_FALSE(all[0].status);
  EXPECT_EQ(runs_of(all), 1u) << "the next frame of its stream is in the run";
  for (const Finished& each : all) EXPECT_TRUE(each.alike);
}

TEST_F(FrameGroups, FollowSettingsOfTheStreams) {
  DecodeProps props;
  props.model_size = "320x320";
  add_streams(3, props);
  run_each(crowd_of(0));
  size_t before = 0;
  for (const float threshold : {0.3f, 0.5f, 0.9f, 0.25f}) {
    props.score_threshold = threshold;
    set_props(props);
    const auto all = run_each(crowd_of(5));
    expect_alike(all, 3);
    EXPECT_EQ(runs_of(all), 1u) << "no new plan is needed";
    EXPECT_NE(all[1].boxes, std::exchange(before, all[1].boxes));
  }
  props.max_detections = 7;
  set_props(props);
  const auto planned = run_each(crowd_of(5));
  EXPECT_EQ(runs_of(planned), 3u) << "new plans";
  const auto all = run_each(crowd_of(6));
  expect_alike(all, 3);
  EXPECT_EQ(all[2].boxes, 7u);
  EXPECT_EQ(runs_of(all), 1u);
}

TEST_F(FrameGroups, FollowPictures) {
  add_streams(3);
  run_each(crowd_of(0));
  set_picture(1, {.size = {1280, 720}});
  EXPECT_EQ(runs_of(run_each(crowd_of(1))), 2u) << "the plan of the second one is new";
  const auto all = run_each(crowd_of(2));
  expect_alike(all, 3);
  EXPECT_EQ(runs_of(all), 1u);
}

TEST_F(FrameGroups, RunFramesOfDifferentModelsApart) {
  add_streams(4);
  const auto some = [](unsigned seed) {
    return [=](size_t i) {
      Tensor tensor = test::crowd(seed + unsigned(i));
      if (i % 2 != 0) return with({tensor});
      tensor.values.resize(tensor.values.size() / 10 * 9);  // a class less
      tensor.shape = {1, 9, 2100};
      return with({tensor});
    };
  };
  run_each(some(0));
  for (unsigned batch = 1; batch < 3; ++batch) {
    const auto all = run_each(some(10 * batch));
    expect_alike(all, 4);
    EXPECT_EQ(runs_of(all), 2u);
  }
}

/// Their places in the input change from frame to frame, and some are held.
TEST_F(FrameGroups, FollowTheSourcesOfFrames) {
  add_streams(3);
  const auto made = [](size_t stream, unsigned number) {
    TensorProvenance source = test::rows_model();
    source.geometry.frame = {320 + 160 * guint(stream), 240 + 100 * guint(stream)};
    source.geometry.scale_x = 0.5f + 0.1f * float(number);
    source.held = number % 2 == 0;
    return test::with_source(source, {{100, 240, 300, 340, 0.9f, 1}, {10, 150, 60, 190, 0.6f, 3}});
  };
  for (unsigned batch = 0; batch < 4; ++batch) {
    const unsigned first = 3 * batch;
    const auto all = run({{0, made(0, first)},
                          {1, made(1, first)},
                          {2, made(2, first)},
                          {0, made(0, first + 1)},
                          {1, made(1, first + 2)},
                          {0, made(0, first + 2)}});
    expect_alike(all, 6);
    EXPECT_EQ(runs_of(all), batch == 0 ? 6u : 1u);
  }
}

/// The values of a blank picture show neither family nor units.
TEST_F(FrameGroups, PlanAgainAfterBlankPictures) {
  add_streams(3);
  const auto blank = [] {
    Tensor tensor = test::crowd(1);
    std::ranges::fill(tensor.values, 0.0f);
    tensor.id.clear();
    return with({tensor});
  };
  const auto named = [](unsigned seed) {
    Tensor tensor = test::crowd(seed);
    tensor.id.clear();
    return with({tensor});
  };
  for (int i = 0; i < 3; ++i) {
    const auto all = run_each([&](size_t stream) { return stream == 1 ? blank() : named(9); });
    for (const Finished& each : all) EXPECT_TRUE(each.alike);
    EXPECT_EQ(runs_of(all), i == 0 ? 3u : 2u) << "the blank one is alone";
  }
  run_each([&](size_t) { return named(3); });
  const auto all = run_each([&](size_t) { return named(4); });
  expect_alike(all, 3);
  EXPECT_EQ(runs_of(all), 1u);
}

TEST_F(FrameGroups, EndWithAStop) {
  add_streams(2);
  run_each(crowd_of(0));
  stop_ = true;
  const auto all = run_each(crowd_of(1));
  ASSERT_EQ(all.size(), 1u) << "no frame after it";
  ASSERT_FALSE(all[0].status);
  EXPECT_EQ(all[0].status.error().kind, ErrorKind::kInterrupted);
  stop_ = false;
  expect_alike(run_each(crowd_of(2)), 2);
}

TEST_F(FrameGroups, KeepTheOrderOfAStream) {
  add_streams(2);
  run_each(crowd_of(0));
  Tensor wide = test::crowd(3);
  wide.values.resize(wide.values.size() / 10 * 9);
  wide.shape = {1, 9, 2100};
  const auto all = run({{0, crowd(1)},
                        {1, crowd(2)},
                        {0, with({wide})},
                        {1, crowd(4)},
                        {0, crowd(5)},
                        {1, crowd(6)}});
  expect_alike(all, 6);
  EXPECT_EQ(runs_of(all), 3u) << "all others, it, and the next one by the new plan";
}

}  // namespace
}  // namespace keepbox::grouptest
