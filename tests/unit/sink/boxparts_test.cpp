// SPDX-License-Identifier: LGPL-2.1-or-later
// Angles, keypoints and masks of boxes in each format.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <numbers>

#include "gst/sink/classes.h"
#include "gst/sink/names.h"
#include "tests/masks.h"
#include "tests/unit/sink/boxtext.h"

namespace keepbox {
namespace {

using namespace test;

TEST(Jsonl, HasKeypoints) {
  const Keypoint points[] = {{1.5f, 2, 0.25f}, {-3, 4, 1}};
  FrameBox box = foreign("dog");
  box.keypoints = {.points = points, .name = g_quark_from_string("body-pose/coco-17")};
  EXPECT_TRUE(text_of(BoxFormat::kJsonl, {box})
                  .ends_with(R"(,"keypoints":{"name":"body-pose/coco-17",)"
                             R"("points":[[1.5,2.0,0.25],[-3.0,4.0,1.0]]}}]})"
                             "\n"));
  box.keypoints.name = 0;
  EXPECT_NE(text_of(BoxFormat::kJsonl, {box}).find(R"("keypoints":{"points":[[)"),
            std::string::npos);
}

TEST(Jsonl, HasTheMaskInItsOwnPixels) {
  const TestMask mask({".#.", "##."});
  FrameBox box = foreign("dog");
  box.mask = mask.over({10, 20.5f, 40, 60});
  EXPECT_TRUE(text_of(BoxFormat::kJsonl, {box})
                  .ends_with(R"(,"mask":{"x":10.0,"y":20.5,"w":30.0,"h":39.5,"width":3,"height":2,)"
                             R"("rle":"132"}}]})"
                             "\n"));
}

TEST(Coco, HasThreeValuesPerKeypoint) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Keypoint points[] = {{1.5f, 2, 0.25f}, {kNan, 4, 1}};
  FrameBox box = foreign("dog");
  box.keypoints = {.points = points};
  EXPECT_TRUE(text_of(BoxFormat::kCoco, {box})
                  .ends_with(R"("score":0.1,"keypoints":[1.5,2.0,0.25,0.0,0.0,0.0]})"));
}

TEST(Coco, HasTheMaskInPixelsOfTheFrame) {
  const TestMask mask({"#"});
  FrameBox box = foreign("dog");
  box.mask = mask.over({0, 0, 2, 1});
  BoxWriter writer(BoxFormat::kCoco, {});
  const std::vector boxes{box};
  // Columns of two pixels: on, off, on, off, off, off.
  EXPECT_TRUE(text_of(writer, boxes, {.number = 1, .size = {3, 2}})
                  .ends_with(R"("score":0.1,"segmentation":{"size":[2,3],"counts":"01102"}})"));
}

/// A box of 40x20 rotated by 90 degrees, about 120,140.
FrameBox oriented(const char* label) {
  FrameBox box = foreign(label);
  box.box = {110, 120, 130, 160};
  box.angle = std::numbers::pi_v<float> / 2;
  return box;
}

TEST(Coco, HasBoundsAndCornersOfAnOrientedBox) {
  const FrameBox box = oriented("ship");
  EXPECT_TRUE(
      text_of(BoxFormat::kCoco, {box})
          .ends_with(R"("bbox":[100.0,130.0,40.0,20.0],"score":0.1,)"
                     R"("segmentation":[[140.0,130.0,140.0,150.0,100.0,150.0,100.0,130.0]]})"))
      << text_of(BoxFormat::kCoco, {box});
}

TEST(Rows, HaveTheBoundsOfAnOrientedBox) {
  const FrameBox box = oriented("ship");
  EXPECT_EQ(text_of(BoxFormat::kMot, {box}), "7,-1,100,130,40,20,0.1,-1,-1,-1\n");
  EXPECT_TRUE(text_of(BoxFormat::kKitti, {box}).starts_with("ship -1 -1 -10 100 130 140 150 -1"));
  EXPECT_EQ(text_of(BoxFormat::kCsv, {box}), "7,40000000,ship,,0.1,110,120,130,160,,,1.5707964\n")
      << "columns for both the box and its angle";
}

TEST(ClassFiles, StayInTheirFolder) {
  const ClassFiles files({"out/", "/boxes.txt"});
  EXPECT_EQ(files.of("person"), "out/person/boxes.txt");
  EXPECT_EQ(files.of("../x"), "out/.._x/boxes.txt");
  EXPECT_EQ(files.of(".."), "out/__/boxes.txt");
  EXPECT_EQ(files.of("."), "out/_/boxes.txt");
}

TEST(ClassWords, AreUniqueAndReportedOnce) {
  ClassWords words;
  EXPECT_EQ(words.of("car"), "car");
  EXPECT_TRUE(words.take_warnings().empty());
  EXPECT_EQ(words.of("a/b"), "a_b");
  EXPECT_EQ(words.of("a b"), "a_b-2");
  EXPECT_EQ(words.of("a\tb"), "a_b-3");
  EXPECT_EQ(words.of("a_b-2"), "a_b-2-2");
  EXPECT_EQ(words.of("a/b"), "a_b");
  EXPECT_EQ(words.of("a b"), "a_b-2");
  const auto alike = words.take_warnings();
  ASSERT_EQ(alike.size(), 1u);
  EXPECT_EQ(alike[0].message(),
            "Two classes give the file name a_b: the file of \"a b\" is named a_b-2");
  EXPECT_EQ(words.of(".."), "__");
  EXPECT_EQ(words.of("__"), "__-2");
  EXPECT_TRUE(words.take_warnings().empty());
}

TEST(ClassWords, AreShortEnoughForFiles) {
  ClassWords words;
  const std::string many(300, 'x'), wide = std::string(179, 'y') + "\u00e9", more = many + "z";
  EXPECT_EQ(words.of(std::string(180, 'x')), std::string(180, 'x'));
  EXPECT_TRUE(words.take_warnings().empty());
  EXPECT_EQ(words.of(wide), std::string(179, 'y')) << "no partial character";
  const auto warnings = words.take_warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].message(),
            "A class name of 181 bytes is too long for a file: its file is named " +
                std::string(179, 'y'));
  EXPECT_EQ(words.of(many), std::string(178, 'x') + "-2");
  EXPECT_EQ(words.of(more), std::string(178, 'x') + "-3");
}

TEST(Dota, HasAFilePerNameIfNamesAreSimilar) {
  const std::vector boxes{foreign("a/b"), foreign("a b"), foreign("a/b")};
  BoxWriter writer(BoxFormat::kDota, {});
  std::map<std::string, std::string> text;
  ASSERT_TRUE(writer.write(kFrame, boxes, text));
  ASSERT_EQ(text.size(), 2u);
  EXPECT_EQ(text["a_b"], text["a_b-2"] + text["a_b-2"]);
  EXPECT_EQ(writer.take_messages().wrong.size(), 1u);
}

TEST(Dota, HasCornersByClass) {
  const std::vector boxes{person(), oriented("large vehicle"), person()};
  BoxWriter writer(BoxFormat::kDota, {.names = {"P0003"}});
  std::map<std::string, std::string> text;
  ASSERT_TRUE(writer.write(kFrame, boxes, text));
  const std::string line = "P0003 0.890163 64.5 48 320.25 48 320.25 240 64.5 240\n";
  EXPECT_EQ(text, (std::map<std::string, std::string>{
                      {"large_vehicle", "P0003 0.1 140 130 140 150 100 150 100 130\n"},
                      {"person", line + line}}));
  EXPECT_EQ(writer.write(kFrame, boxes, text).error().message(),
            "There are more frames than the 1 of image-ids=. Add a line per frame to the file of "
            "image-ids=.");
  BoxWriter numbered(BoxFormat::kDota, {});
  text.clear();
  ASSERT_TRUE(numbered.write(kFrame, {&boxes[1], 1}, text));
  EXPECT_EQ(text["large_vehicle"], "7 0.1 140 130 140 150 100 150 100 130\n");
}

}  // namespace
}  // namespace keepbox
