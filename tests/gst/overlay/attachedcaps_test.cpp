// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps of downstream, with which boxoverlay attaches boxes, draws on the frame, or tells why it
// does neither.
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/gst/overlay/attached.h"

namespace keepbox {
namespace {

using test::AttachedOverlay;
using test::bytes;
using test::kAccepts;
using test::kAcceptsGl;
using test::kAttachedHeight;
using test::kAttachedWidth;
using test::rectangles_of;

TEST_F(AttachedOverlay, ReachesMemoryThatCannotBeDrawnOn) {
  accept(kAcceptsGl);
  send_gl();
  const test::Buffer out = run(boxed());
  ASSERT_TRUE(out) << error();
  EXPECT_EQ(bytes(out.get()), blank());
  EXPECT_GT(rectangles_of(out.get()), 0u);
  g_autoptr(GstCaps) caps = gst_pad_get_current_caps(harness_->sinkpad);
  const GstCapsFeatures* features = gst_caps_get_features(caps, 0);
  EXPECT_TRUE(gst_caps_features_contains(features, "memory:GLMemory"));
  EXPECT_TRUE(gst_caps_features_contains(features, "meta:GstVideoOverlayComposition"));
}

TEST_F(AttachedOverlay, ReachesFormatsThatCannotBeDrawnOn) {
  accept(kAccepts);
  format("YUY2", kAttachedWidth, kAttachedHeight);
  EXPECT_GT(rectangles_of(run(boxed()).get()), 0u);
}

TEST_F(AttachedOverlay, AutoDrawsOnTheFrame) {
  const std::string both = "video/x-raw;" + std::string(kAccepts);
  for (const char* caps : {"video/x-raw", both.c_str(), "video/x-raw(ANY)"}) {
    accept(caps);
    const test::Buffer out = run(boxed());
    ASSERT_TRUE(out) << caps;
    EXPECT_NE(bytes(out.get()), blank()) << caps;
    EXPECT_EQ(rectangles_of(out.get()), 0u) << caps;
  }
}

/// Elements that accept anything, such as converters, would not draw attached boxes.
TEST_F(AttachedOverlay, AutoAcceptsOnlyWhatWillBeSeen) {
  for (const char* caps : {"video/x-raw,format={YUY2,NV12}", "video/x-raw(ANY)", "ANY"}) {
    accept(caps);
    EXPECT_EQ(accepted().find("YUY2"), std::string::npos) << accepted();
    EXPECT_NE(accepted().find("NV12"), std::string::npos) << accepted();
    EXPECT_EQ(accepted().find("ANY"), std::string::npos) << accepted();
  }
  accept(kAcceptsGl);
  EXPECT_NE(accepted().find("GLMemory"), std::string::npos) << accepted();
  set("blur", "person");
  EXPECT_EQ(accepted().find("GLMemory)"), std::string::npos) << "what is blurred is drawn";
}

TEST_F(AttachedOverlay, ReportsASinkThatDoesNotDraw) {
  set("render", 2);
  for (const char* caps : {"video/x-raw", "ANY"}) {
    accept(caps);
    EXPECT_FALSE(run(boxed())) << caps;
    EXPECT_EQ(flow_, GST_FLOW_ERROR);
    EXPECT_EQ(error(),
              "Boxes cannot be attached: downstream does not accept overlay compositions "
              "(meta:GstVideoOverlayComposition). Draw on the frame with render=auto or "
              "render=blend, or put a sink that draws compositions after it, such as glimagesink.");
  }
}

TEST_F(AttachedOverlay, TakesAnOfferOfTheAllocation) {
  set("render", 2);
  accept("ANY");
  offer(nullptr);
  const test::Buffer out = run(boxed());
  ASSERT_TRUE(out) << error();
  EXPECT_GT(rectangles_of(out.get()), 0u);
}

TEST_F(AttachedOverlay, DoesNotShowWhatItCannotBlur) {
  set("blur", "person");
  set("render", 2);
  accept(kAcceptsGl);
  send_gl("v210");
  EXPECT_FALSE(run(boxed()));
  EXPECT_EQ(flow_, GST_FLOW_ERROR);
  EXPECT_EQ(error(),
            "Objects on the frame cannot be obscured: its format cannot be drawn on. Convert "
            "frames to a format in system memory before boxoverlay.");
  EXPECT_TRUE(run(frame())) << "a frame without such objects passes";
}

TEST_F(AttachedOverlay, ChangesWhilePlaying) {
  accept(("video/x-raw;" + std::string(kAccepts)).c_str());
  for (const int render : {1, 2, 0, 2, 1}) {
    set("render", render);
    const test::Buffer out = run(boxed());
    ASSERT_TRUE(out) << render << error();
    EXPECT_EQ(bytes(out.get()) == blank(), render == 2) << render;
    EXPECT_EQ(rectangles_of(out.get()) > 0, render == 2) << render;
  }
}

}  // namespace
}  // namespace keepbox
