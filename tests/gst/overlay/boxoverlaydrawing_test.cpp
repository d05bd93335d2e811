// SPDX-License-Identifier: LGPL-2.1-or-later
// Drawing of boxoverlay: colours, captions, masks and keypoints.
#include <gst/analytics/analytics.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <climits>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "gst/metas/boxes.h"
#include "gst/overlay/colors.h"
#include "tests/gst/overlay/boxoverlay.h"
#include "tests/masks.h"

namespace keepbox {
namespace {

using test::BoxOverlay;
using test::bytes;
using test::kBackground;

/// Boxes next to each other on frames of 64x48, and the colours of their outlines.
class OverlayColors : public BoxOverlay {
 protected:
  OverlayColors() {
    set("draw-labels", FALSE);
    set("draw-scores", FALSE);
    set("draw-tracking-ids", FALSE);
  }
  static FrameBox at(float x, const char* label, std::optional<uint32_t> number = {}) {
    return {.box = {x, 20, x + 8, 40},
            .score = 0.5f,
            .label = g_quark_from_string(label),
            .class_id = number,
            .anchor = 0};
  }
  static Rgb pixel(const std::vector<guint8>& pixels, int x) {
    const guint8* p = &pixels[20 * 64 * 3 + x * 3];
    return {p[0], p[1], p[2]};
  }
};

TEST_F(OverlayColors, OutlineHasTheColourOfItsClass) {
  const auto pixels = drawn(boxed());
  EXPECT_EQ(pixel(pixels, 10), palette()[number_of("person") % palette().size()])
      << "by its name, where there is no number";
  EXPECT_EQ(pixels[19 * info_.stride[0] + 10 * 3], kBackground);
  EXPECT_EQ(pixels[22 * info_.stride[0] + 13 * 3], kBackground);
}

TEST_F(OverlayColors, ClassNumbersChooseColours) {
  const std::array boxes{at(2, "triangle", 2), at(14, "cross", 4), at(26, "ring", 5)};
  const auto pixels = drawn(decoded(boxes));
  EXPECT_EQ(pixel(pixels, 2), palette()[2]);
  EXPECT_EQ(pixel(pixels, 14), palette()[4]);
  EXPECT_EQ(pixel(pixels, 26), palette()[5]);
}

TEST_F(OverlayColors, OneColourForAll) {
  set("color", 0xff123456u);
  const std::array boxes{at(2, "triangle", 2), at(14, "cross", 4)};
  for (const char* by : {"class", "tracking-id", "model"}) {
    gst_util_set_object_arg(G_OBJECT(harness_->element), "color-by", by);
    const auto pixels = drawn(decoded(boxes));
    EXPECT_EQ(pixel(pixels, 2), (Rgb{0x12, 0x34, 0x56}));
    EXPECT_EQ(pixel(pixels, 14), (Rgb{0x12, 0x34, 0x56}));
  }
  set("color", 0u);
  gst_util_set_object_arg(G_OBJECT(harness_->element), "color-by", "class");
  EXPECT_EQ(pixel(drawn(decoded(boxes)), 2), palette()[2]);
}

TEST_F(OverlayColors, ByTrackingIdAndByModel) {
  std::array boxes{at(2, "triangle", 2), at(14, "triangle", 2), at(26, "triangle", 2)};
  boxes[0].tracking_id = 6;
  boxes[1].tracking_id = 7;
  gst_util_set_object_arg(G_OBJECT(harness_->element), "color-by", "tracking-id");
  auto pixels = drawn(decoded(boxes));
  EXPECT_EQ(pixel(pixels, 2), palette()[6]);
  EXPECT_EQ(pixel(pixels, 14), palette()[7]);
  EXPECT_EQ(pixel(pixels, 26), kUntracked);
  gst_util_set_object_arg(G_OBJECT(harness_->element), "color-by", "model");
  pixels = drawn(decoded(boxes));
  EXPECT_EQ(pixel(pixels, 2), palette()[0]);
  EXPECT_EQ(pixel(pixels, 14), palette()[0]);
}

TEST_F(OverlayColors, OneClassNumberOfTwoModelsHasTwoColours) {
  std::array boxes{at(2, "person", 1), at(14, "face", 1)};
  boxes[0].model = g_quark_from_string("people");
  boxes[1].model = g_quark_from_string("faces");
  const auto pixels = drawn(decoded(boxes));
  EXPECT_EQ(pixel(pixels, 2), palette()[1]);
  EXPECT_NE(pixel(pixels, 14), palette()[1]);
}

TEST_F(OverlayColors, BetterBoxesAreOnTopInAnyOrder) {
  std::array boxes{at(2, "star", 3), at(2, "ring", 5), at(2, "cross", 4)};
  boxes[0].score = std::numeric_limits<float>::quiet_NaN();
  boxes[1].score = 0.9f;
  EXPECT_EQ(pixel(drawn(decoded(boxes)), 2), palette()[5]);
}

TEST_F(BoxOverlay, CaptionsFollowProperties) {
  format("RGB", 320, 240);
  const auto all = drawn(boxed(10, 100, 200, 100));
  set("draw-scores", FALSE);
  const auto label = drawn(boxed(10, 100, 200, 100));
  set("draw-labels", FALSE);
  const auto outline = drawn(boxed(10, 100, 200, 100));
  set("thickness", 9u);
  const auto thick = drawn(boxed(10, 100, 200, 100));
  const auto count = [](const std::vector<guint8>& pixels) {
    return pixels.size() - static_cast<size_t>(std::ranges::count(pixels, kBackground));
  };
  EXPECT_GT(count(all), count(label));
  EXPECT_GT(count(label), count(outline));
  EXPECT_GT(count(thick), 4 * count(outline));
  set("draw-labels", TRUE);
  set("font-scale", 2.0);
  EXPECT_GT(count(drawn(boxed(10, 100, 200, 100))), 2 * count(label));
}

TEST_F(BoxOverlay, LabelsDoNotCoverEachOther) {
  format("RGB", 320, 240);
  const auto box = [](float at, float score, uint32_t number) {
    return FrameBox{.box = {at, at, at + 160, at + 80},
                    .score = score,
                    .label = g_quark_from_string("star"),
                    .class_id = number,
                    .anchor = 0};
  };
  /// Counts pixels in the colour of the worse of two boxes.
  const auto shown = [&](std::span<const FrameBox> boxes) {
    const auto pixels = drawn(decoded(boxes));
    const Rgb color = palette()[3];
    int count = 0;
    for (size_t i = 0; i + 2 < pixels.size(); i += 3)
      count += Rgb{pixels[i], pixels[i + 1], pixels[i + 2]} == color;
    return count;
  };
  const std::array both{box(57, 0.8f, 3), box(60, 0.9f, 4)};
  const int alone = shown({both.data(), 1});
  EXPECT_GT(shown(both), alone - 200) << "its label is covered or missing";
  gst_util_set_object_arg(G_OBJECT(harness_->element), "label-placement", "above");
  EXPECT_LT(shown(both), alone - 300);
}

TEST_F(BoxOverlay, TrackingIds) {
  format("RGB", 320, 240);
  const auto tracked = [&](guint64 id) {
    GstBuffer* buffer = boxed(10, 100, 200, 100);
    auto* meta = gst_buffer_get_analytics_relation_meta(buffer);
    GstAnalyticsTrackingMtd track;
    gst_analytics_relation_meta_add_tracking_mtd(meta, id, 0, &track);
    gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, 0, track.id);
    return buffer;
  };
  const auto without = drawn(boxed(10, 100, 200, 100));
  const auto one = drawn(tracked(1));
  EXPECT_NE(one, without);
  EXPECT_NE(drawn(tracked(G_MAXUINT64)), one);
  set("draw-tracking-ids", FALSE);
  EXPECT_EQ(drawn(tracked(1)), without);
}

TEST_F(BoxOverlay, MasksAndKeypointsCanBeDisabled) {
  const test::TestMask mask({"##", "##"});
  const Keypoint points[] = {{40, 10, 0.9f}, {60, 40, 0.9f}, {52, 10, 0.3f}};
  const Edge edges[] = {{0, 1}};
  std::array boxes{FrameBox{.box = {2, 2, 62, 46}, .score = 0.5f, .class_id = 0, .anchor = 0}};
  boxes[0].mask = mask.over({6, 10, 26, 40});
  boxes[0].keypoints = {.points = points, .edges = edges};
  for (const char* property : {"draw-labels", "draw-scores"}) set(property, FALSE);
  const auto changed = [&](int x, int y) {
    return drawn(decoded(boxes))[static_cast<size_t>(y * info_.stride[0] + x * 3)] != kBackground;
  };
  EXPECT_TRUE(changed(16, 25)) << "the mask";
  EXPECT_TRUE(changed(50, 25)) << "the line";
  EXPECT_TRUE(changed(2, 25)) << "the outline";
  EXPECT_FALSE(changed(52, 10)) << "a point that is not sure";
  set("keypoint-threshold", 0.25f);
  EXPECT_TRUE(changed(52, 10));
  set("draw-masks", FALSE);
  EXPECT_FALSE(changed(16, 25));
  EXPECT_TRUE(changed(50, 25));
  set("draw-keypoints", FALSE);
  EXPECT_FALSE(changed(50, 25));
  EXPECT_TRUE(changed(2, 25));
  set("draw-boxes", FALSE);
  EXPECT_EQ(drawn(decoded(boxes)), blank());
}

TEST_F(BoxOverlay, MasksAndKeypointsOfSharedFrames) {
  const test::TestMask mask({"#"});
  const Keypoint points[] = {{40, 10, 0.9f}};
  std::array boxes{FrameBox{.box = {2, 2, 62, 46}, .score = 0.5f, .class_id = 0, .anchor = 0}};
  boxes[0].mask = mask.over({6, 10, 26, 40});
  boxes[0].keypoints = {.points = points};
  const auto alone = drawn(decoded(boxes));
  GstBuffer* shared = decoded(boxes);
  gst_buffer_ref(shared);
  EXPECT_EQ(drawn(shared), alone);
  EXPECT_EQ(bytes(shared), blank());
  gst_buffer_unref(shared);
}

TEST_F(BoxOverlay, RotatedBoxes) {
  EXPECT_NE(drawn(boxed(10, 20, 30, 20, 0.5f)), drawn(boxed()));
  EXPECT_NE(drawn(boxed(10, 20, 30, 20, 0.5f)), drawn(boxed(10, 20, 30, 20, -0.5f)));
}

TEST_F(BoxOverlay, AbsurdBoxesDoNoHarm) {
  for (const int at : {INT_MIN / 2, -1000000000, 0, 1000000000})
    for (const int size : {0, 1, 1000000000})
      for (const float angle : {0.0f, 0.7f}) {
        EXPECT_EQ(drawn(boxed(at, at, size, size, angle)).size(), info_.size);
        EXPECT_EQ(drawn(boxed(at, 5, size, 10, angle)).size(), info_.size);
      }
}

TEST_F(BoxOverlay, LabelsThatAreNotAscii) {
  for (const char* label :
       {"Velo f\xc3\xbcr zwei", "\xe4\xba\xba", "\xff\xfe broken", "a\nb", ""}) {
    GstBuffer* buffer = frame();
    auto* meta = gst_buffer_add_analytics_relation_meta(buffer);
    gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string(label), 5, 20, 30, 20, 0.5f,
                                           nullptr);
    gst_analytics_relation_meta_add_od_mtd(meta, 0, 30, 20, 30, 20, -0.5f, nullptr);
    EXPECT_NE(drawn(buffer), blank());
  }
}

}  // namespace
}  // namespace keepbox
