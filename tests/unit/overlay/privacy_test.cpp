// SPDX-License-Identifier: LGPL-2.1-or-later
// Tests of the choice of objects that are obscured, and for how long.
#include "gst/overlay/privacy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace keepbox {
namespace {

constexpr GstClockTime kFrameTime = 40 * GST_MSECOND;

FrameBox box_of(const char* label, std::optional<guint64> id = {}, float x = 10) {
  return {.box = {x, 10, x + 20, 30}, .label = g_quark_from_string(label), .tracking_id = id};
}

/// Returns what a frame has that a model skipped.
SkippedModels skipped_by(const char* model) {
  GstBuffer* frame = gst_buffer_new();
  note_skipped_model(frame, g_quark_from_string(model));
  const SkippedModels out(frame);
  gst_buffer_unref(frame);
  return out;
}

FrameBox street_box(const char* label, std::optional<guint64> id = {}, float x = 10) {
  FrameBox out = box_of(label, id, x);
  out.model = g_quark_from_string("street");
  return out;
}

/// Returns the left edges.
std::vector<float> lefts(const std::vector<ObscuredBox>& boxes) {
  std::vector<float> out;
  for (const ObscuredBox& box : boxes) out.push_back(box.box.x1);
  return out;
}

using Lefts = std::vector<float>;

/// A stream of frames, 40 ms apart.
class Stream {
 public:
  explicit Stream(OverlayProps props) : props_(std::move(props)) {}

  std::vector<ObscuredBox> frame(const std::vector<FrameBox>& boxes) {
    return frame_at(number_ * kFrameTime, boxes);
  }
  std::vector<ObscuredBox> frame_at(GstClockTime time, const std::vector<FrameBox>& boxes,
                                    const SkippedModels& skipped = {}) {
    std::vector<ObscuredBox> out;
    privacy_.choose({boxes, skipped, {640, 360}, time}, props_, out);
    number_ = GST_CLOCK_TIME_IS_VALID(time) ? time / kFrameTime + 1 : number_;
    return out;
  }
  /// Adds a frame that a model skipped.
  std::vector<ObscuredBox> skipped(const std::vector<FrameBox>& boxes = {},
                                   const char* model = "street") {
    return frame_at(number_ * kFrameTime, boxes, skipped_by(model));
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

/// Objects that a skipped frame lacks are not gone.
TEST(Privacy, KeepsObjectsOnSkippedFrames) {
  Stream stream({.blur = "person", .blur_lost = 0});
  EXPECT_EQ(lefts(stream.frame({street_box("person"), street_box("car", {}, 50)})), Lefts{10});
  for (int frame = 0; frame < 100; ++frame) EXPECT_EQ(lefts(stream.skipped()), Lefts{10});
  EXPECT_EQ(lefts(stream.frame({street_box("person", {}, 90)})), Lefts{90});
  EXPECT_EQ(lefts(stream.skipped()), Lefts{90});
  EXPECT_TRUE(stream.frame({}).empty()) << "looked at, and gone";
  EXPECT_TRUE(stream.skipped().empty());
}

TEST(Privacy, KeepsObjectsOnSkippedFramesWithoutTimes) {
  Stream stream({.blur = "person"});
  stream.frame_at(GST_CLOCK_TIME_NONE, {street_box("person", 7)});
  EXPECT_EQ(lefts(stream.frame_at(GST_CLOCK_TIME_NONE, {}, skipped_by("street"))), Lefts{10});
}

/// Held boxes are those of the last look; predicted ones are where the object is now.
TEST(Privacy, TakesTheBoxesOfSkippedFrames) {
  Stream stream({.blur = "person", .blur_lost = 0});
  stream.frame({street_box("person"), street_box("person", {}, 60)});
  FrameBox held = street_box("person"), other = street_box("person", {}, 60);
  held.held = other.held = true;
  EXPECT_EQ(lefts(stream.skipped({held, other})), (Lefts{10, 60}));
  stream.frame({street_box("person", 7), street_box("person", {}, 60)});
  FrameBox predicted = street_box("person", 7, 14);
  predicted.predicted = true;
  EXPECT_EQ(lefts(stream.skipped({predicted})), (Lefts{14, 60})) << "no id, no prediction";
}

TEST(Privacy, CountsBlurLostFromFramesThatWereLookedAt) {
  Stream stream({.blur = "person", .blur_lost = 0.1});
  stream.frame({street_box("person", 7)});
  for (int frame = 0; frame < 50; ++frame) EXPECT_FALSE(stream.skipped().empty()) << frame;
  EXPECT_FALSE(stream.frame({}).empty()) << "lost for 40 ms";
  EXPECT_FALSE(stream.frame({}).empty());
  EXPECT_TRUE(stream.frame({}).empty()) << "lost for 120 ms";
}

TEST(Privacy, CoversFramesBeforeTheFirstLook) {
  for (const bool pixelates : {false, true}) {
    Stream stream({.blur = pixelates ? "" : "person", .pixelate = pixelates ? "person" : ""});
    const auto out = stream.skipped();
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].box, (Box{0, 0, 640, 360}));
    EXPECT_EQ(out[0].how, pixelates ? Obscuring::kPixelate : Obscuring::kBlur);
    EXPECT_EQ(stream.skipped().size(), 1u);
    EXPECT_TRUE(stream.frame({}).empty());
    EXPECT_TRUE(stream.skipped().empty()) << "nothing was there";
    EXPECT_EQ(stream.frame_at(0, {}, skipped_by("street")).size(), 1u) << "a seek";
    stream.frame_at(kFrameTime, {});
    stream.privacy().forget_places();
    EXPECT_EQ(stream.skipped().size(), 1u) << "another size";
  }
}

TEST(Privacy, CoversFramesUntilEachModelHasLooked) {
  const auto both = [] {
    g_autoptr(GstBuffer) frame = gst_buffer_new();
    for (const char* model : {"street", "faces"})
      note_skipped_model(frame, g_quark_from_string(model));
    return SkippedModels(frame);
  };
  Stream stream({.blur = "*", .blur_lost = 0});
  EXPECT_EQ(stream.frame_at(0, {}, both()).size(), 1u);
  EXPECT_EQ(stream.skipped({}, "faces").size(), 1u) << "no faces yet";
  EXPECT_EQ(stream.skipped({}, "street").size(), 0u) << "both have looked";
  EXPECT_EQ(stream.frame_at(10 * kFrameTime, {}, both()).size(), 0u);
}

/// Kept parts are those of some objects only.
TEST(Privacy, KeepsObjectsBesidesHeldParts) {
  Stream stream({.blur = "*", .blur_lost = 0});
  stream.frame({street_box("plate")});
  FrameBox part = street_box("plate", {}, 50);
  part.held = true;
  part.parent = 0;
  EXPECT_EQ(lefts(stream.skipped({part})), (Lefts{50, 10}));
}

TEST(Privacy, KeepsTheSkippedModelsApart) {
  Stream stream({.blur = "*", .blur_lost = 0});
  FrameBox face = box_of("face", {}, 50);
  face.model = g_quark_from_string("faces");
  EXPECT_EQ(stream.skipped({face}).size(), 2u) << "the face, and all of the frame";
  EXPECT_EQ(lefts(stream.frame({face, street_box("person")})), (Lefts{50, 10}));
  EXPECT_EQ(lefts(stream.skipped()), Lefts{10}) << "the face was looked for";
  EXPECT_EQ(lefts(stream.skipped({}, "faces")), Lefts{}) << "no face on the last look";
}

/// The name of a model may change while it skips frames.
TEST(Privacy, KeepsObjectsOfAModelWhoseNameChanges) {
  Stream stream({.blur = "*", .blur_lost = 0});
  FrameBox face = box_of("face", {}, 50), renamed = box_of("person", {}, 90);
  face.model = g_quark_from_string("faces");
  renamed.model = g_quark_from_string("renamed");
  stream.frame({street_box("person"), face});
  EXPECT_EQ(lefts(stream.skipped({face})), (Lefts{50, 10}));
  for (const char* name : {"again", "renamed", "renamed"}) {
    EXPECT_EQ(lefts(stream.skipped({face}, name)), (Lefts{50, 10})) << name;
    EXPECT_EQ(lefts(stream.skipped({}, name)), Lefts{10}) << "the face was looked for: " << name;
  }
  EXPECT_EQ(lefts(stream.frame({renamed})), Lefts{90});
  EXPECT_EQ(lefts(stream.skipped({}, "renamed")), Lefts{90});
  EXPECT_EQ(lefts(stream.skipped({}, "street")), Lefts{}) << "known, and not there";

  Stream blind({.blur = "*", .blur_lost = 0});
  blind.skipped();
  for (int frame = 0; frame < 2; ++frame) {
    const auto out = blind.skipped({}, "renamed");
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].box, (Box{0, 0, 640, 360})) << "not looked at yet";
  }
  EXPECT_TRUE(blind.frame({}).empty());
  EXPECT_TRUE(blind.skipped({}, "renamed").empty());
}

/// A tracked object is lost from the first frame on that was looked at.
TEST(Privacy, CountsBlurLostFromLooksUnderAnotherName) {
  Stream stream({.blur = "*", .blur_lost = 0.1});
  stream.frame({street_box("person", 7)});
  for (int frame = 0; frame < 50; ++frame)
    EXPECT_FALSE(stream.skipped({}, "renamed").empty()) << frame;
  stream.frame({});
  EXPECT_FALSE(stream.frame({}).empty());
  EXPECT_TRUE(stream.frame({}).empty()) << "lost for 120 ms";
}

TEST(Privacy, FollowsListsOnSkippedFrames) {
  Stream stream({.blur = "person"});
  stream.frame({street_box("person"), street_box("car", {}, 50)});
  stream.props().blur = "car";
  EXPECT_EQ(lefts(stream.skipped()), Lefts{50});
}

TEST(Privacy, WarnsOfAnObjectThatCannotBeFollowedBesidesOthers) {
  Stream stream({.blur = "person", .pixelate = "plate"});
  for (int look = 0; look < 10; ++look) {
    stream.frame({street_box("person", 7), street_box("plate", {}, 50 + look)});
    stream.skipped();
  }
  EXPECT_EQ(stream.privacy().take_warnings().size(), 1u);
}

TEST(Privacy, WarnsOnceThatObjectsCannotBeFollowed) {
  const auto warnings_of = [](std::optional<guint64> id) {
    Stream stream({.blur = "person"});
    std::vector<Error> out;
    for (int look = 0; look < 10; ++look) {
      stream.frame({street_box("person", look < 2 ? std::nullopt : id)});
      stream.skipped();
      for (const Error& each : stream.privacy().take_warnings()) out.push_back(each);
    }
    return out;
  };
  EXPECT_TRUE(warnings_of(7).empty()) << "its speed is known";
  const auto warnings = warnings_of({});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].message(),
            "The model skips frames, on which objects are obscured where it found them last: an "
            "object that moves can be visible there. Put boxtrack before boxoverlay, or let the "
            "model run on every frame (interval=1 qos=false).");
}

TEST(Privacy, WarnsOnceIfNothingIsTracked) {
  Stream stream({.blur = "person", .blur_lost = 1});
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
  lost.start(0, GST_SECOND, {});
  for (guint64 id = 0; id < LostBoxes::kMaxBoxes + 10; ++id)
    EXPECT_EQ(lost.note(box_of("person", id), Obscuring::kBlur), Obscuring::kBlur);
  lost.start(kFrameTime, GST_SECOND, {});
  std::vector<ObscuredBox> out;
  lost.add_lost(out);
  EXPECT_EQ(out.size(), 2 * LostBoxes::kMaxBoxes);
}

}  // namespace
}  // namespace keepbox
