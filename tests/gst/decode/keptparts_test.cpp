// SPDX-License-Identifier: LGPL-2.1-or-later
// Parts of objects on frames on which their model did not run on these: they are kept, or the frame
// counts as skipped, but never as one without parts.
#include "gst/decode/keptparts.h"

#include "gst/metas/boxes.h"
#include "gst/metas/skippedmodels.h"
#include "tests/gst/infer/infer.h"

namespace keepbox::keptparts_test {
namespace {

using test::Buffer;
using test::Harness;
using test::painted;
using test::raw;

constexpr Size kFrame{320, 240};
const std::string kScene = raw("RGB", 320, 240);
const GQuark kPlates = g_quark_from_string("plates");

/// An object on a frame, with or without a tracking id.
struct Object {
  Box box;
  std::optional<guint64> id{};
};

class KeptPartsTest : public test::Inference {
 protected:
  /// Returns a detector of red patches in objects, for images of 64 x 64.
  std::string line(const std::string& of_infer) {
    return infer(test::ultralytics_like({64, 64}), "regions=objects " + of_infer) +
           " ! boxdecode name=decode model-name=plates";
  }

  /// Returns a frame with a red patch in the middle of the first object.
  static GstBuffer* frame(const std::vector<Object>& objects) {
    test::Paint paint = test::grey;
    std::vector<FrameBox> boxes;
    for (const Object& each : objects)
      boxes.push_back({.box = each.box,
                       .score = 0.5f,
                       .label = g_quark_from_string("car"),
                       .class_id = 0,
                       .anchor = 0});
    if (!objects.empty()) {
      const int x = static_cast<int>(objects[0].box.x1), y = static_cast<int>(objects[0].box.y1);
      paint = test::patches({x + 16, y + 24, x + 40, y + 40});
    }
    GstBuffer* out = painted(kScene, paint);
    EXPECT_TRUE(attach_boxes(out, boxes, {.frame = kFrame}));
    for (size_t i = 0; i < objects.size(); ++i)
      if (objects[i].id) track(out, boxes[i].od_id, *objects[i].id);
    return out;
  }

  static void track(GstBuffer* frame, guint od_id, guint64 id) {
    auto* meta = gst_buffer_get_analytics_relation_meta(frame);
    GstAnalyticsTrackingMtd mtd;
    gst_analytics_relation_meta_add_tracking_mtd(meta, id, 0, &mtd);
    gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, od_id, mtd.id);
  }

  /// Returns the parts on a frame that left the line.
  static std::vector<FrameBox> parts(const Buffer& out) {
    std::vector<FrameBox> found;
    if (out) read_boxes(out.get(), found, nullptr, kFrame);
    std::erase_if(found, [](const FrameBox& box) { return !box.parent; });
    return found;
  }

  static bool skipped(const Buffer& out) { return SkippedModels(out.get()).has(kPlates); }
};

void expect_near(const Box& a, const Box& b) {
  EXPECT_NEAR(a.x1, b.x1, 1);
  EXPECT_NEAR(a.y1, b.y1, 1);
  EXPECT_NEAR(a.x2, b.x2, 1);
  EXPECT_NEAR(a.y2, b.y2, 1);
}

TEST_F(KeptPartsTest, FollowAnObjectThatIsNotDue) {
  Harness h(line("reinfer=3"), kScene);
  std::string held;
  for (int i = 0; i < 7; ++i) {
    const float x = 64 + 8.f * static_cast<float>(i);
    const Buffer out = h.run(frame({{{x, 48, x + 64, 112}, 7}}));
    ASSERT_TRUE(out) << h.error();
    const auto found = parts(out);
    ASSERT_EQ(found.size(), 1u) << i;
    held += found[0].held ? '-' : 'x';
    expect_near(found[0].box, {x + 16, 72, x + 40, 88});
    EXPECT_EQ(found[0].parent, 0u);
    EXPECT_EQ(found[0].label, g_quark_from_string("disc"));
    EXPECT_FALSE(skipped(out)) << "all parts are known";
  }
  EXPECT_EQ(held, "x--x--x");
}

/// Objects are run on at different times.
TEST_F(KeptPartsTest, AreOfTheObjectsThatWereLeftOut) {
  Harness h(line("reinfer=3"), kScene);
  const Box one{64, 48, 128, 112}, two{200, 128, 264, 192};
  EXPECT_EQ(parts(h.run(frame({{one, 7}}))).size(), 1u) << h.error();
  for (int i = 0; i < 3; ++i) {
    const auto found = parts(h.run(frame({{two, 8}, {one, 7}})));
    ASSERT_EQ(found.size(), i < 2 ? 2u : 1u) << i << ": the third time nothing is found in it";
  }
  EXPECT_EQ(parts(h.run(frame({{two, 8}}))).size(), 1u) << "the other one is gone";
}

TEST_F(KeptPartsTest, FollowThroughFramesThatAreSkipped) {
  Harness h(line("interval=3"), kScene);
  for (int i = 0; i < 4; ++i) {
    const Buffer out = h.run(frame({{{64, 48, 128, 112}, 7}}));
    ASSERT_EQ(parts(out).size(), 1u) << i << h.error();
    EXPECT_EQ(parts(out)[0].held, i % 3 != 0);
    EXPECT_FALSE(skipped(out));
  }
}

TEST_F(KeptPartsTest, AreUnknownWithoutAnId) {
  Harness h(line("interval=2"), kScene);
  for (int i = 0; i < 4; ++i) {
    const Buffer out = h.run(frame({{{64, 48, 128, 112}}}));
    EXPECT_EQ(parts(out).size(), i % 2 == 0 ? 1u : 0u) << h.error();
    EXPECT_EQ(skipped(out), i % 2 != 0) << i;
  }
  Buffer out = h.run(frame({}));
  EXPECT_FALSE(skipped(out)) << "no object is left out";
  out = h.run(frame({}));
  EXPECT_FALSE(skipped(out));
}

TEST_F(KeptPartsTest, AreForgottenWithAFlush) {
  Harness h(line("interval=2"), kScene);
  ASSERT_EQ(parts(h.run(frame({{{64, 48, 128, 112}, 7}}))).size(), 1u) << h.error();
  g_autoptr(GstElement) decode = gst_bin_get_by_name(h.bin(), "decode");
  g_autoptr(GstPad) pad = gst_element_get_static_pad(decode, "sink");
  gst_pad_send_event(pad, gst_event_new_flush_start());
  gst_pad_send_event(pad, gst_event_new_flush_stop(FALSE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_pad_send_event(pad, gst_event_new_segment(&segment));
  const Buffer out = h.run(frame({{{64, 48, 128, 112}, 7}}));
  EXPECT_EQ(parts(out).size(), 0u) << h.error();
  EXPECT_TRUE(skipped(out));
}

TEST(KeptParts, MoveAndGrowWithTheirObject) {
  const std::vector<Keypoint> points{{12, 14, 1}};
  const std::vector<float> values{0.5f};
  FrameBox object{.box = {10, 10, 30, 30}, .od_id = 3, .tracking_id = 7};
  KeptParts kept;
  kept.begin();
  kept.remember(object, std::vector<FrameBox>{{.box = {12, 12, 20, 16},
                                               .parent = 3,
                                               .keypoints = {.points = points},
                                               .values = {.values = values}},
                                              {.box = {1, 1, 2, 2}, .parent = 4}});
  kept.begin();
  object = {.box = {100, 50, 140, 110}, .od_id = 5, .tracking_id = 7};
  const auto found = kept.of(object, kFrame);
  ASSERT_TRUE(found && found->size() == 1);
  const FrameBox& part = found->front();
  EXPECT_EQ(part.box, (Box{104, 56, 120, 68}));
  EXPECT_EQ(part.parent, 5u);
  EXPECT_TRUE(part.held);
  EXPECT_EQ(part.keypoints.points[0].x, 104);
  EXPECT_EQ(part.keypoints.points[0].y, 62);
  EXPECT_EQ(part.values.values[0], 0.5f);
  object.box = {400, 50, 440, 110};
  EXPECT_EQ(kept.of(object, kFrame)->size(), 0u) << "outside of the frame";
  object.tracking_id = 8;
  EXPECT_FALSE(kept.of(object, kFrame));
  object.tracking_id.reset();
  EXPECT_FALSE(kept.of(object, kFrame));
}

TEST(KeptParts, AreForgottenWhenTheirObjectIsGone) {
  const FrameBox object{.box = {10, 10, 30, 30}, .tracking_id = 7};
  KeptParts kept;
  kept.begin();
  kept.remember(object, {});
  for (int i = 0; i < 2500; ++i) {
    kept.begin();
    ASSERT_TRUE(kept.of(object, kFrame)) << i;
  }
  for (int i = 0; i < 2500; ++i) kept.begin();
  EXPECT_FALSE(kept.of(object, kFrame));
}

}  // namespace
}  // namespace keepbox::keptparts_test
