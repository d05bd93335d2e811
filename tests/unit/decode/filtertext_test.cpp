// SPDX-License-Identifier: LGPL-2.1-or-later
// Sizes, regions and classes as written by users.
#include "gst/decode/settings.h"

#include <gtest/gtest.h>

namespace keepbox {
namespace {

const Labels kLabels({"person", "traffic light", "box"});

TEST(SizeText, ReadsGeneralAndPerClassSizes) {
  EXPECT_EQ(*sizes_of("", kLabels, "p"), BoxSizes{});
  EXPECT_EQ(*sizes_of("16x8", kLabels, "p"), (BoxSizes{{16, 8}, {}}));
  EXPECT_EQ(*sizes_of(" person: 32x64 ,7:0x8.5, 16 x 16,box:1x2", kLabels, "p"),
            (BoxSizes{{16, 16}, {{0, {32, 64}}, {7, {0, 8.5f}}, {2, {1, 2}}}}));
}

TEST(SizeText, IsOfAllClassesOfAName) {
  const Labels labels({"car", "person", "car"});
  EXPECT_EQ(*sizes_of("car:1x2", labels, "p"), (BoxSizes{{}, {{0, {1, 2}}, {2, {1, 2}}}}));
}

TEST(SizeText, ErrorsQuoteTheText) {
  for (const char* text : {"16", "16x", "x16", "16x16x16", "16X16", "-1x5", "nanx5", "infx5",
                           "16x16,", "person:16", "0=16x16"}) {
    const auto sizes = sizes_of(text, kLabels, "min-size");
    ASSERT_FALSE(sizes) << text;
    EXPECT_NE(sizes.error().message().find("Set min-size= to a value such as 16x16"),
              std::string::npos)
        << text;
  }
  for (const char* text : {"dog:16x16", ":16x16", "5000:16x16"}) {
    const auto sizes = sizes_of(text, kLabels, "min-size");
    ASSERT_FALSE(sizes) << text;
    EXPECT_NE(sizes.error().hint.find("set min-size="), std::string::npos) << text;
  }
}

TEST(RegionText, ReadsPixelsAndFractions) {
  EXPECT_TRUE(regions_of(" ")->regions.empty());
  EXPECT_EQ(regions_of("0,0.5,1,0.5; 100, 50,640,360")->regions,
            (std::vector<Region>{{{0, 0.5f, 1, 1}, 1}, {{100, 50, 740, 410}, 0}}));
  EXPECT_EQ(regions_of("0,0,1,2")->regions, (std::vector<Region>{{{0, 0, 1, 2}, 0}}));
}

TEST(RegionText, ReadsExcludedOnesAndTheRule) {
  const auto plain = regions_of("!0,0,1,2; ! 1,2,3,4;5,6,7,8");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->rule, RegionRule::kCenter);
  EXPECT_EQ(plain->regions, (std::vector<Region>{{{5, 6, 12, 14}, 0}}));
  EXPECT_EQ(plain->excluded, (std::vector<Region>{{{0, 0, 1, 2}, 0}, {{1, 2, 4, 6}, 0}}));
  EXPECT_EQ(regions_of("center:0,0,1,2")->rule, RegionRule::kCenter);
  EXPECT_EQ(regions_of(" inside: 0,0,1,2")->rule, RegionRule::kInside);
  const auto touched = regions_of("touch:!0,0,1,2");
  ASSERT_TRUE(touched);
  EXPECT_EQ(touched->rule, RegionRule::kTouch);
  EXPECT_EQ(touched->excluded.size(), 1u);
}

TEST(RegionText, ErrorsQuoteTheText) {
  for (const char* text :
       {"1,2,3", "1,2,3,4,5", "a,2,3,4", "1,2,0,4", "1,2,3,0", "-1,2,3,4", "1,2,3,4;", "1,2,nan,4",
        "1;2;3;4", "!", "!!1,2,3,4", "1,2,3,4;inside:1,2,3,4", "near:1,2,3,4", "inside:;"}) {
    const auto regions = regions_of(text);
    ASSERT_FALSE(regions) << text;
    EXPECT_NE(regions.error().message().find("Set regions= to a value such as "),
              std::string::npos);
  }
  std::string many = "1,2,3,4";
  for (uint32_t i = 1; i < kMaxRegions; ++i) many += ";1,2,3,4";
  EXPECT_EQ(regions_of(many)->regions.size(), kMaxRegions);
  EXPECT_TRUE(regions_of(many + ";!1,2,3,4"));
  EXPECT_FALSE(regions_of(many + ";1,2,3,4"));
}

TEST(ModelSizeText, IsWidthAndHeight) {
  EXPECT_EQ(*model_size_of(""), Size{});
  EXPECT_EQ(*model_size_of(" 640 x 384"), (Size{640, 384}));
  for (const char* text :
       {"640", "640x", "0x640", "640x0", "640x640x3", "65537x1", "-1x2", "1.5x2"}) {
    const auto size = model_size_of(text);
    ASSERT_FALSE(size) << text;
    EXPECT_NE(size.error().message().find("Set model-size= to a value such as 640x640"),
              std::string::npos);
  }
}

TEST(ClassText, KeepsOrDrops) {
  const auto settings = [](const char* text) {
    return resolve({.include_classes = text}, kLabels, {}, nullptr);
  };
  EXPECT_EQ(settings("person,2")->include_classes, (std::vector<uint32_t>{0, 2}));
  EXPECT_TRUE(settings("person")->exclude_classes.empty());
  EXPECT_EQ(settings("!person, ! 2")->exclude_classes, (std::vector<uint32_t>{0, 2}));
  EXPECT_TRUE(settings("!person")->include_classes.empty());
  EXPECT_EQ(settings("box,!person")->exclude_classes, (std::vector<uint32_t>{0}));
  for (const char* text : {"!", "!!person", "!prsn", "person,!"}) {
    const auto wrong = settings(text);
    ASSERT_FALSE(wrong) << text;
    EXPECT_TRUE(wrong.error().message().starts_with("include-classes names ")) << text;
  }
}

TEST(TileMergeValues, AreMeasureAndUnion) {
  for (const TileMerge merge : {TileMerge::kIos, TileMerge::kIou, TileMerge::kNone})
    for (const bool united : {false, true}) {
      const DecodeOptions options{.tile_merge = static_cast<int>(merge) + (united ? kUnionOf : 0)};
      const auto settings = resolve(options, kLabels, {});
      EXPECT_EQ(settings->tile_rules.merge, merge);
      EXPECT_EQ(settings->tile_rules.united, united);
    }
}

}  // namespace
}  // namespace keepbox
