// SPDX-License-Identifier: LGPL-2.1-or-later
// Sizes and regions as written by users.
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
  EXPECT_TRUE(regions_of(" ", "p")->empty());
  EXPECT_EQ(*regions_of("0,0.5,1,0.5; 100, 50,640,360", "p"),
            (std::vector<Region>{{{0, 0.5f, 1, 1}, 1}, {{100, 50, 740, 410}, 0}}));
  EXPECT_EQ(*regions_of("0,0,1,2", "p"), (std::vector<Region>{{{0, 0, 1, 2}, 0}}));
}

TEST(RegionText, ErrorsQuoteTheText) {
  for (const char* text : {"1,2,3", "1,2,3,4,5", "a,2,3,4", "1,2,0,4", "1,2,3,0", "-1,2,3,4",
                           "1,2,3,4;", "1,2,nan,4", "1;2;3;4"}) {
    const auto regions = regions_of(text, "exclude-regions");
    ASSERT_FALSE(regions) << text;
    EXPECT_NE(regions.error().message().find("Set exclude-regions= to a value such as "),
              std::string::npos);
  }
  std::string many = "1,2,3,4";
  for (uint32_t i = 1; i < kMaxRegions; ++i) many += ";1,2,3,4";
  EXPECT_EQ(regions_of(many, "regions")->size(), kMaxRegions);
  EXPECT_FALSE(regions_of(many + ";1,2,3,4", "regions"));
}

}  // namespace
}  // namespace keepbox
