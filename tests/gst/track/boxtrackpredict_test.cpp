// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes that boxtrack predicts on frames without inference.
#include "tests/gst/track/boxtrack.h"

#include <array>

namespace keepbox::test {
namespace {

class BoxtrackMethods : public testing::TestWithParam<const char*> {
 protected:
  std::string props(const std::string& more) const {
    return std::string("method=") + GetParam() + " " + more;
  }
};
INSTANTIATE_TEST_SUITE_P(Boxtrack, BoxtrackMethods,
                         testing::Values("bytetrack", "sort", "oc-sort"));

TEST_P(BoxtrackMethods, PredictBoxes) {
  Track h(props("predict=true"));
  h.walk(0, 20);
  for (guint i = 20; i < 23; ++i) {
    const auto found = boxes(h.skip(i));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].tracking_id, 1u);
    EXPECT_TRUE(found[0].predicted);
    EXPECT_FALSE(found[0].held);
    EXPECT_EQ(found[0].label, g_quark_from_string("thing"));
    EXPECT_NEAR(found[0].box.x1, kSpeed * static_cast<float>(i), 1);
    EXPECT_NEAR(found[0].box.x2 - found[0].box.x1, 60, 1);
  }
  const auto seen = boxes(h.walk(23, 24));
  EXPECT_EQ(ids(seen), IdList{1});
  EXPECT_FALSE(seen[0].predicted);
}

TEST_P(BoxtrackMethods, PredictForASecond) {
  Track h(props("predict=true"));
  h.walk(0, 20);
  EXPECT_EQ(boxes(h.skip(44)).size(), 1u);
  EXPECT_TRUE(boxes(h.skip(45)).empty());
}

TEST(Boxtrack, PredictsOnFramesThatNoDecoderSaw) {
  Track h("predict=true");
  h.walk(0, 20);
  EXPECT_EQ(boxes(h.run(h.frame(20).release())).size(), 1u);
}

TEST(Boxtrack, StopsPredictingWhenTracksWouldBeLost) {
  Track h("predict=true lost-after=200000000");
  h.walk(0, 20);
  EXPECT_EQ(boxes(h.skip(24)).size(), 1u);
  EXPECT_TRUE(boxes(h.skip(25)).empty());
}

TEST(Boxtrack, WritesWhenTheModelLastFoundAnObject) {
  Track h("predict=true");
  h.walk(0, 20);
  const auto last_seen = [](const Buffer& frame) {
    auto* meta = gst_buffer_get_analytics_relation_meta(frame.get());
    auto tracks =
        related<GstAnalyticsTrackingMtd>(meta, 0, gst_analytics_tracking_mtd_get_mtd_type());
    guint64 id = 0;
    GstClockTime first = 0, last = 0;
    gboolean lost = FALSE;
    EXPECT_EQ(tracks.size(), 1u);
    gst_analytics_tracking_mtd_get_info(&tracks.at(0), &id, &first, &last, &lost);
    return last;
  };
  EXPECT_EQ(last_seen(h.skip(22)), 19 * kStep) << "predicted";
  EXPECT_EQ(last_seen(h.walk(23, 24)), 23 * kStep);
  FrameBox held = at(kSpeed * 23);
  held.held = true;
  EXPECT_EQ(last_seen(h.see(25, {held})), 23 * kStep) << "held";
}

TEST(Boxtrack, PredictsNothingOutsideOfTheFrame) {
  Track h("predict=true");
  for (guint i = 0; i < 10; ++i) h.see(i, {at(480 + 12 * static_cast<float>(i))});
  const auto edge = boxes(h.skip(11));
  ASSERT_EQ(edge.size(), 1u);
  EXPECT_EQ(edge[0].box.x2, 640);
  EXPECT_TRUE(boxes(h.skip(17)).empty());
}

TEST(Boxtrack, PredictsKeypointsAndAngles) {
  Track h("predict=true");
  const Keypoint points[] = {{0, 100, 0.9f}, {60, 220, 0.8f}};
  const Edge edges[] = {{0, 1}};
  for (guint i = 0; i < 20; ++i) {
    const float x = kSpeed * static_cast<float>(i);
    std::array moved{Keypoint{points[0].x + x, 100, 0.9f}, Keypoint{points[1].x + x, 220, 0.8f}};
    FrameBox box = at(x), turned = at(x, 300);
    box.keypoints = {moved, edges, g_quark_from_string("two")};
    turned.angle = 0.5f;
    turned.box.x2 += static_cast<float>(i);  // a predicted one keeps its sides
    h.see(i, {box, turned});
  }
  const Buffer frame = h.skip(20);  // owns the keypoints
  const auto found = boxes(frame);
  ASSERT_EQ(found.size(), 2u);
  ASSERT_EQ(found[0].keypoints.points.size(), 2u);
  EXPECT_NEAR(found[0].keypoints.points[0].x, kSpeed * 20, 1);
  EXPECT_NEAR(found[0].keypoints.points[1].x, kSpeed * 20 + 60, 1);
  EXPECT_FLOAT_EQ(found[0].keypoints.points[1].score, 0.8f);
  ASSERT_EQ(found[0].keypoints.edges.size(), 1u);
  EXPECT_EQ(found[0].keypoints.edges[0].to, 1);
  EXPECT_FLOAT_EQ(found[1].angle, 0.5f);
  EXPECT_NEAR(found[1].box.x1, kSpeed * 20, 1.5);
  EXPECT_FLOAT_EQ(found[1].box.x2 - found[1].box.x1, 60 + 19);
}

}  // namespace
}  // namespace keepbox::test
