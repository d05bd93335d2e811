// SPDX-License-Identifier: LGPL-2.1-or-later
// Areas of tiles in a frame.
#include "core/plan/tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace keepbox {
namespace {

std::vector<uint32_t> lefts(const std::vector<PixelArea>& areas) {
  std::set<uint32_t> out;
  for (const PixelArea& each : areas) out.insert(each.x);
  return {out.begin(), out.end()};
}

std::vector<uint32_t> tops(const std::vector<PixelArea>& areas) {
  std::set<uint32_t> out;
  for (const PixelArea& each : areas) out.insert(each.y);
  return {out.begin(), out.end()};
}

TEST(TileAreas, OfASizeAreThoseOfSahi) {
  const auto areas = tile_areas({.size = {1920, 1080}}, {.size = 640});
  ASSERT_TRUE(areas);
  EXPECT_EQ(areas->size(), 8u);
  EXPECT_EQ(lefts(*areas), (std::vector<uint32_t>{0, 512, 1024, 1280}));
  EXPECT_EQ(tops(*areas), (std::vector<uint32_t>{0, 440}));
  for (const PixelArea& each : *areas) EXPECT_EQ(each.size, (Size{640, 640}));
}

TEST(TileAreas, OfColumnsAreSpreadOverTheFrame) {
  const auto areas = tile_areas({.size = {1000, 600}}, {.columns = 3, .rows = 2, .whole = true});
  ASSERT_TRUE(areas);
  ASSERT_EQ(areas->size(), 7u);
  EXPECT_EQ(areas->front().size, (Size{385, 334}));  // of 384.6 and 333.3
  EXPECT_EQ(lefts(*areas), (std::vector<uint32_t>{0, 308, 615}));
  EXPECT_EQ(tops(*areas), (std::vector<uint32_t>{0, 266}));
  EXPECT_EQ(areas->back(), (PixelArea{0, 0, {1000, 600}}));
}

TEST(TileAreas, BeginAtWholeChromaSamples) {
  const auto areas =
      tile_areas({.size = {1000, 600}, .chroma = {2, 2}}, {.columns = 3, .rows = 1, .overlap = 0});
  ASSERT_TRUE(areas);
  EXPECT_EQ(lefts(*areas), (std::vector<uint32_t>{0, 332, 666}));
}

TEST(TileAreas, CoverTheFrame) {
  std::mt19937 random(3);
  const auto pick = [&](uint32_t low, uint32_t high) {
    return std::uniform_int_distribution<uint32_t>(low, high)(random);
  };
  for (int i = 0; i < 300; ++i) {
    const Size frame{pick(1, 900), pick(1, 900)};
    const TileGrid grid = i % 2 ? TileGrid{.columns = pick(1, 6), .rows = pick(1, 6)}
                                : TileGrid{.size = pick(200, 700)};
    const uint32_t sample = i % 3 == 0 ? 2 : 1;
    const auto areas = tile_areas({.size = frame, .chroma = {sample, sample}}, grid);
    ASSERT_TRUE(areas) << areas.error().message();
    for (const auto& [x, y] : {std::pair{0u, 0u},
                               {frame.width - 1, frame.height - 1},
                               {pick(0, frame.width - 1), pick(0, frame.height - 1)}})
      EXPECT_TRUE(std::ranges::any_of(*areas,
                                      [&](const PixelArea& each) {
                                        return x >= each.x && x < each.x + each.size.width &&
                                               y >= each.y && y < each.y + each.size.height;
                                      }))
          << x << "," << y;
    for (const PixelArea& each : *areas) {
      EXPECT_EQ(each.x % sample + each.y % sample, 0u);
      EXPECT_LE(each.x + each.size.width, frame.width);
      EXPECT_LE(each.y + each.size.height, frame.height);
    }
  }
}

/// Objects at the frame's edges would otherwise count as cut.
TEST(TileAreas, EndAtTheFramesEdges) {
  const auto areas =
      tile_areas({.size = {1920, 1080}, .chroma = {2, 2}}, {.columns = 3, .rows = 2});
  ASSERT_TRUE(areas);
  EXPECT_EQ(areas->back().x + areas->back().size.width, 1920u);
  EXPECT_EQ(areas->back().y + areas->back().size.height, 1080u);
  EXPECT_EQ(areas->back().size.height, 600u) << "not 601, by an overlap that is a little less";
}

TEST(TileAreas, AreLimitedInNumber) {
  EXPECT_TRUE(tile_areas({.size = {640, 640}}, {.columns = 8, .rows = 8}));
  for (const TileGrid& grid : {TileGrid{.columns = 8, .rows = 8, .whole = true},
                               TileGrid{.columns = 4000000000u, .rows = 3}, TileGrid{.size = 1},
                               TileGrid{.size = 30, .overlap = 0.9f}}) {
    const auto areas = tile_areas({.size = {640, 640}}, grid);
    ASSERT_FALSE(areas);
    EXPECT_NE(areas.error().message().find("more than 64 tiles"), std::string::npos);
  }
}

TEST(TileAreas, FollowAFrameThatIsScaledAndMoved) {
  const Tile tile =
      tile_of({80, 20, {100, 60}}, {180, 100}, {.frame = {100, 60}, .model = {100, 60}});
  EXPECT_EQ(tile.area, (Box{80, 20, 180, 80}));
  EXPECT_EQ(moved(tile, {400, 400}, 2, 3, 5, 7).area, (Box{165, 67, 365, 247}));
  EXPECT_EQ(scaled_to(tile, {360, 50}).area, (Box{160, 10, 360, 40}));
  EXPECT_EQ(scaled_to(tile, {180, 100}), tile);
}

}  // namespace
}  // namespace keepbox
