// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames between those that the model sees: with the last tensors, or without.
#include <cstring>

#include "gst/metas/boxes.h"
#include "tests/gst/infer/infer.h"
#include "tests/gst/infer/shaded.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::counted;
using test::Harness;
using test::has_box;
using test::InferFrames;
using test::kSmallFrame;
using test::painted;
using test::patches;
using test::raw;
using test::Rect;
using test::shade_of;
using test::shaded;

TEST_F(InferFrames, HaveTensorsAtTheInterval) {
  Harness h(identity("interval=3"), kSmallFrame);
  for (int i = 0; i < 7; ++i) {
    const Buffer out = h.run(shaded(10 * i));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(shade_of(out), i % 3 == 0 ? static_cast<float>(10 * i) : -1) << i;
  }
  EXPECT_EQ(counted(h.element(), "frames"), 7u);
  EXPECT_EQ(counted(h.element(), "inferred"), 3u);
  EXPECT_EQ(counted(h.element(), "skipped"), 4u);
}

TEST_F(InferFrames, HoldTheLastTensorsOnRequest) {
  Harness h(identity("interval=3 hold=true"), kSmallFrame);
  for (int i = 0; i < 7; ++i) {
    const Buffer out = h.run(shaded(10 * i));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(shade_of(out), static_cast<float>(10 * (i / 3 * 3))) << i;
  }
  EXPECT_EQ(counted(h.element(), "inferred"), 3u);
}

TEST_F(InferFrames, HeldFramesHaveTheLastBoxes) {
  const std::string caps = raw("RGB", 640, 360);
  Harness h(infer(test::ultralytics_like({320, 320}), "interval=2 hold=true") + " ! boxdecode",
            caps);
  std::vector<FrameBox> last;
  for (int i = 0; i < 6; ++i) {
    const Rect red{40 * i + 11, 60, 40 * i + 200, 200};
    const Buffer out = h.run(painted(caps, patches(red)));
    ASSERT_TRUE(out) << h.error();
    const auto found = boxes(out);
    ASSERT_EQ(found.size(), 1u) << i;
    EXPECT_EQ(found[0].held, i % 2 == 1) << i;
    if (i % 2 == 0) {
      EXPECT_TRUE(has_box(out, "disc", red)) << i;
    } else {
      EXPECT_EQ(found[0].box, last.at(0).box) << i;
      EXPECT_EQ(found[0].score, last.at(0).score) << i;
      EXPECT_EQ(found[0].label, last.at(0).label) << i;
    }
    last = found;
  }
  EXPECT_EQ(h.error(), "");
}

TEST_F(InferFrames, SkippedFramesHaveNoBoxesAndNoError) {
  const std::string caps = raw("RGB", 640, 360);
  Harness h(infer(test::ultralytics_like({320, 320}), "interval=2") + " ! boxdecode", caps);
  for (int i = 0; i < 4; ++i) {
    const Buffer out = h.run(painted(caps, patches({100, 60, 300, 200})));
    ASSERT_TRUE(out) << i << ": " << h.error();
    std::vector<FrameBox> found;
    read_boxes(out.get(), found);
    EXPECT_EQ(found.size(), i % 2 == 0 ? 1u : 0u) << i;
  }
  EXPECT_EQ(h.error(), "");
  EXPECT_EQ(h.warning(), "");
}

TEST_F(InferFrames, SkippedByOneModelAreDecodedForTheOther) {
  const std::string caps = raw("RGB", 640, 360);
  const std::string second = file(test::ultralytics_like({192, 320}), "second.onnx");
  Harness h(infer(test::ultralytics_like({320, 320}), "interval=2") + " ! tensorinfer model-file=" +
                second + " ! boxdecode model-name=first ! boxdecode model-name=second",
            caps);
  for (int i = 0; i < 4; ++i) {
    const Buffer out = h.run(painted(caps, patches({100, 60, 300, 200})));
    ASSERT_TRUE(out) << i << ": " << h.error();
    const auto found = boxes(out);
    ASSERT_EQ(found.size(), i % 2 == 0 ? 2u : 1u) << i;
    EXPECT_STREQ(g_quark_to_string(found.back().model), "second") << i;
  }
}

TEST_F(InferFrames, ForgetHeldTensorsWhenTheCapsChange) {
  const std::string props = "interval=4 hold=true";
  Harness h(infer(test::ultralytics_like({320, 320}), props) + " ! boxdecode",
            raw("RGB", 640, 360));
  ASSERT_TRUE(h.run(painted(raw("RGB", 640, 360), patches({100, 60, 300, 200}))));
  h.set_caps(raw("RGB", 200, 200));
  const Rect red{50, 40, 120, 160};
  const Buffer out = h.run(painted(raw("RGB", 200, 200), patches(red)));
  ASSERT_TRUE(out) << h.error();
  EXPECT_TRUE(has_box(out, "disc", red)) << "the place of what is held is another picture's";
}

/// Buffers without a picture are counted too, so that held tensors are never older than the
/// interval. They get none, because nothing could be drawn on them.
TEST_F(InferFrames, HoldNothingLongerThanTheInterval) {
  Harness h(identity("interval=3 hold=true"), kSmallFrame);
  ASSERT_TRUE(h.run(shaded(10))) << h.error();
  const auto gap = [&] { return shade_of(h.run(gst_buffer_new())); };
  EXPECT_EQ(gap(), -1.f);
  EXPECT_EQ(shade_of(h.run(shaded(20))), 10.f);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(gap(), -1.f) << i;
  EXPECT_EQ(shade_of(h.run(shaded(40))), 40.f) << "its turn came long ago";
  EXPECT_EQ(h.error(), "");
}

}  // namespace
}  // namespace keepbox
