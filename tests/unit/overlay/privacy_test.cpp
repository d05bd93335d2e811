// SPDX-License-Identifier: LGPL-2.1-or-later
// Tests of the choice of objects that are obscured, and for how long.
#include "gst/overlay/privacy/privacy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace keepbox {
namespace {

constexpr GstClockTime kFrameTime = 40 * GST_MSECOND;

FrameBox box_of(const char* label, std::optional<guint64> id = {}, float x = 10) {
  return {.box = {x, 10, x + 20, 30}, .label = g_quark_from_string(label), .tracking_id = id};
}

/// A stream of frames, 40 ms apart.
class Stream {
 public:
  explicit Stream(OverlayProps props) : props_(std::move(props)) {}

  std::vector<ObscuredBox> frame(const std::vector<FrameBox>& boxes) {
    return frame_at(number_ * kFrameTime, boxes);
  }
  std::vector<ObscuredBox> frame_at(GstClockTime time, const std::vector<FrameBox>& boxes) {
    std::vector<ObscuredBox> out;
    privacy_.choose(boxes, props_, time, out);
    number_ = GST_CLOCK_TIME_IS_VALID(time) ? time / kFrameTime + 1 : number_;
    return out;
  }
  Privacy& privacy() { return privacy_; }
  OverlayProps& props() { return props_; }

 private:
  OverlayProps props_;
  Privacy privacy_;
  guint64 number_ = 0;
};

TEST(Privacy, TakesNamesNumbersAndModels) {
  FrameBox box = box_of("person");
  box.class_id = 3;
  box.model = g_quark_from_string("street");
  for (const char* list :
       {"person", "car, person", "3", "*", "street/person", "street/3", "street/*", " ,person,"})
    EXPECT_EQ(Stream({.blur = list}).frame({box}).size(), 1u) << list;
  for (const char* list :
       {"", "Person", "perso", "33", "other/person", "street", "street/", "/", "streetperson"})
    EXPECT_EQ(Stream({.blur = list}).frame({box}).size(), 0u) << list;
  box.label = g_quark_from_string("a/b");
  EXPECT_EQ(Stream({.blur = "a/b"}).frame({box}).size(), 1u);
}

TEST(Privacy, PixelatesWhatIsInBothLists) {
  Stream stream({.blur = "*", .pixelate = "car"});
  const auto out = stream.frame({box_of("car"), box_of("dog")});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].how, Obscuring::kPixelate);
  EXPECT_EQ(out[1].how, Obscuring::kBlur);
}

TEST(Privacy, KeepsLostObjectsForATime) {
  Stream stream({.blur = "person", .blur_lost = 0.1});
  stream.frame({box_of("person", 7)});
  for (int missed = 0; missed < 2; ++missed) {
    const auto out = stream.frame({box_of("car", 8)});
    ASSERT_FALSE(out.empty()) << missed;
    EXPECT_EQ(out[0].box.x1, 10);
  }
  EXPECT_TRUE(stream.frame({}).empty()) << "after 120 ms";
}

TEST(Privacy, GoesOnAtTheSpeedOfALostObject) {
  Stream stream({.blur = "person", .blur_lost = 1});
  for (const float x : {10.0f, 20.0f, 30.0f}) stream.frame({box_of("person", 7, x)});
  stream.frame({});
  const auto out = stream.frame({});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].box.x1, 30) << "where it was last";
  EXPECT_NEAR(out[1].box.x1, 50, 0.01) << "where it may be by now";
  EXPECT_EQ(out[1].box.x2 - out[1].box.x1, 20);
}

TEST(Privacy, IgnoresTheSpeedOfHeldBoxes) {
  Stream stream({.blur = "person", .blur_lost = 1});
  stream.frame({box_of("person", 7, 10)});
  stream.frame({box_of("person", 7, 20)});
  FrameBox held = box_of("person", 7, 20);
  held.held = true;
  stream.frame({held});
  EXPECT_NEAR(stream.frame({}).back().box.x1, 30, 0.01);
}

TEST(Privacy, KeepsAnObjectThatBecomesAnotherClass) {
  Stream stream({.blur = "person", .blur_lost = 0.1});
  stream.frame({box_of("person", 7)});
  for (int frame = 0; frame < 2; ++frame) {
    const auto out = stream.frame({box_of("dog", 7, 50)});
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].box.x1, 50) << "where it is";
  }
  EXPECT_TRUE(stream.frame({box_of("dog", 7)}).empty()) << "a dog for more than 0.1 s";
  EXPECT_TRUE(stream.frame({}).empty());
}

TEST(Privacy, KeepsModelsApart) {
  Stream stream({.blur = "person", .blur_lost = 1});
  FrameBox other = box_of("dog", 7, 50);
  other.model = g_quark_from_string("dogs");
  EXPECT_EQ(stream.frame({box_of("person", 7), other}).size(), 1u);
  EXPECT_EQ(stream.frame({other}).size(), 2u) << "the lost person, not the dog of the same id";
}

TEST(Privacy, ForgetsAfterASeekBackAndWithoutTimes) {
  Stream stream({.blur = "person", .blur_lost = 1});
  stream.frame_at(GST_SECOND, {box_of("person", 7)});
  EXPECT_TRUE(stream.frame_at(0, {}).empty());
  stream.frame_at(GST_SECOND, {box_of("person", 7)});
  EXPECT_TRUE(stream.frame_at(GST_CLOCK_TIME_NONE, {}).empty());
  stream.frame_at(GST_SECOND, {box_of("person", 7)});
  stream.privacy().forget_places();
  EXPECT_TRUE(stream.frame({}).empty());
  stream.props().blur_lost = 0;
  stream.frame({box_of("person", 7)});
  EXPECT_TRUE(stream.frame({}).empty());
}

TEST(Privacy, WarnsOnceIfNothingIsTracked) {
  Stream stream({.blur = "person", .blur_lost = 1, .blur_lost_set = true});
  stream.frame({box_of("person", 7), box_of("dog")});
  EXPECT_TRUE(stream.privacy().take_warnings().empty());
  stream.frame({box_of("person"), box_of("person")});
  const auto warnings = stream.privacy().take_warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(
      warnings[0].message(),
      "blur-lost has no effect on boxes without tracking ids: a lost object is shown at once. "
      "Put boxtrack before boxoverlay.");
  stream.frame({box_of("person")});
  EXPECT_TRUE(stream.privacy().take_warnings().empty());
}

TEST(Privacy, NamesListedClassesThatNoBoxHad) {
  Stream stream({.blur = "person,persn", .pixelate = "plate"});
  EXPECT_TRUE(stream.privacy().take_unused().empty()) << "without any box";
  stream.frame({box_of("person"), box_of("car")});
  const auto unused = stream.privacy().take_unused();
  ASSERT_EQ(unused.size(), 2u);
  EXPECT_TRUE(unused[0].message().starts_with("blur names \"persn\", but boxes had the classes "))
      << unused[0].message();
  EXPECT_TRUE(unused[1].message().starts_with("pixelate names \"plate\"")) << unused[1].message();
}

/// A live stream has no end at which it could be reported.
TEST(Privacy, NamesClassesThatNoBoxHasAfterAChange) {
  Stream stream({.blur = "disk"});
  for (int frame = 0; frame < 100; ++frame) stream.frame({box_of("disc")});
  EXPECT_TRUE(stream.privacy().take_warnings().empty()) << "at the end, if it has one";
  stream.props().blur = "disc,dis";
  stream.frame({box_of("disc")});
  EXPECT_TRUE(stream.privacy().take_warnings().empty()) << "the object may still come";
  for (int frame = 0; frame < 100; ++frame) {
    stream.frame({});
    stream.frame({box_of("disc")});
  }
  const auto warnings = stream.privacy().take_warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].message(),
            "blur names \"dis\", but boxes had the classes \"disc\". Correct the name if you meant "
            "one of these.");
  EXPECT_TRUE(stream.privacy().take_unused().empty()) << "once";
  stream.props().blur = "dsc";
  stream.frame({box_of("disc")});
  EXPECT_EQ(stream.privacy().take_unused().size(), 1u) << "at the end at the latest";
}

TEST(LostBoxes, KeepAtMostKMaxBoxesPerFrame) {
  LostBoxes lost;
  lost.start(0, GST_SECOND);
  for (guint64 id = 0; id < LostBoxes::kMaxBoxes + 10; ++id)
    EXPECT_EQ(lost.note(box_of("person", id), Obscuring::kBlur), Obscuring::kBlur);
  lost.start(kFrameTime, GST_SECOND);
  std::vector<ObscuredBox> out;
  lost.add_lost(out);
  EXPECT_EQ(out.size(), 2 * LostBoxes::kMaxBoxes);
}

}  // namespace
}  // namespace keepbox
