// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes of several tiles joined.
#include "core/plan/tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>

#include "core/run/processor.h"
#include "tests/cputime.h"
#include "tests/scene.h"

namespace keepbox {
namespace {

using test::Row;
using test::rows;
using test::Tensor;

/// Two tiles of 100 pixels that overlap by 20, in a frame of 180x100.
Settings two_tiles() {
  Settings out = test::pixel_settings();
  const Size frame{180, 100};
  const Letterbox at{.frame = {100, 100}, .model = {100, 100}};
  out.tiles = {tile_of({0, 0, {100, 100}}, frame, at), tile_of({80, 0, {100, 100}}, frame, at)};
  out.letterbox = out.tiles[0].letterbox;
  out.frame.size = frame;
  return out;
}

/// Returns rows of two images, each with one below the threshold, since a dimension of 1 is no row.
/// @pre there are equally many.
Tensor images(std::vector<Row> first, std::vector<Row> second) {
  for (auto* each : {&first, &second}) each->push_back({1, 1, 2, 2, 0.01f, 0});
  const size_t each = first.size();
  first.insert(first.end(), second.begin(), second.end());
  Tensor out = rows(first);
  out.shape = {2, each, 6};
  return out;
}

std::vector<Detection> joined(const Settings& settings, const Tensor& tensor) {
  const auto found = test::detect(settings, {tensor.view()});
  EXPECT_TRUE(found) << found.error().message();
  return found.value_or(std::vector<Detection>{});
}

TEST(Tiles, AWholeBoxIsKeptForACutOneOfAHigherScore) {
  const Tensor tensor = images({{82, 10, 99.5f, 40, 0.9f, 0}}, {{2, 10, 35, 40, 0.5f, 0}});
  Settings settings = two_tiles();
  const auto found = joined(settings, tensor);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].box, (Box{82, 10, 115, 40}));
  settings.tile_rules.border = -1;
  const auto by_score = joined(settings, tensor);
  ASSERT_EQ(by_score.size(), 1u);
  EXPECT_EQ(by_score[0].score, 0.9f);
}

TEST(Tiles, TheFramesOwnEdgesCutNothing) {
  const Tensor tensor = images({{0, 0, 60, 100, 0.9f, 0}}, {{-80, 0, -20, 100, 0.8f, 0}});
  const auto found = joined(two_tiles(), tensor);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].score, 0.9f);
}

TEST(Tiles, BoxesOfOneTileDoNotSuppressEachOther) {
  // One box inside of another, which suppression in the tile keeps: their IoU is small.
  const Tensor tensor = images({{10, 10, 70, 90, 0.9f, 0}, {20, 20, 30, 30, 0.8f, 0}},
                               {{50, 10, 60, 20, 0.7f, 0}, {50, 50, 60, 60, 0.2f, 0}});
  EXPECT_EQ(joined(two_tiles(), tensor).size(), 3u);
}

TEST(Tiles, ClassesAreApartUnlessAgnostic) {
  const Tensor tensor = images({{82, 10, 97, 40, 0.9f, 0}}, {{2, 10, 17, 40, 0.8f, 1}});
  Settings settings = two_tiles();
  EXPECT_EQ(joined(settings, tensor).size(), 2u);
  settings.class_agnostic = true;
  EXPECT_EQ(joined(settings, tensor).size(), 1u);
}

TEST(Tiles, TheMeasureAndItsThresholdDecide) {
  // The second box is the left half of the first: IoU 0.5, and 1 of the smaller area.
  const Tensor tensor = images({{82, 10, 98, 40, 0.9f, 0}}, {{2, 10, 10, 40, 0.8f, 0}});
  Settings settings = two_tiles();
  settings.tile_rules.merge = TileMerge::kIou;
  EXPECT_EQ(joined(settings, tensor).size(), 2u) << "0.5 is not above 0.5";
  settings.tile_rules.threshold = 0.49f;
  EXPECT_EQ(joined(settings, tensor).size(), 1u);
  settings.tile_rules.merge = TileMerge::kNone;
  EXPECT_EQ(joined(settings, tensor).size(), 2u);
  settings.tile_rules = {};
  EXPECT_EQ(joined(settings, tensor).size(), 1u);
}

/// An object from 70 to 98 that each tile of 100 sees a part of.
TEST(Tiles, AreUnitedIfWanted) {
  const Tensor tensor = images({{70, 10, 96, 40, 0.9f, 0}}, {{1, 8, 18, 38, 0.8f, 0}});
  Settings settings = two_tiles();
  settings.tile_rules.border = -1;
  EXPECT_EQ(joined(settings, tensor)[0].box, (Box{70, 10, 96, 40}));
  settings.tile_rules.united = true;
  const auto found = joined(settings, tensor);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].box, (Box{70, 8, 98, 40}));
  EXPECT_EQ(found[0].score, 0.9f);
}

TEST(Tiles, OrientedBoxesCannotBeUnited) {
  const Tensor tensor{.values = std::vector<float>(2 * 7 * 40), .shape = {2, 7, 40}};
  const TensorView view = tensor.view();
  Settings settings = two_tiles();
  settings.detector = "yolov8-obb";
  auto plan = make_plan(settings, {&view, 1});
  ASSERT_TRUE(plan) << plan.error().message();
  settings.tile_rules.united = true;
  EXPECT_EQ(retune(*plan, settings).error().message(),
            "tile-merge= cannot extend oriented boxes to their union. Set it to ios or iou.");
  EXPECT_FALSE(make_plan(settings, {&view, 1}));
}

TEST(Tiles, CountWhatWasDropped) {
  const Tensor tensor = images({{82, 10, 98, 40, 0.9f, 0}}, {{2, 10, 18, 40, 0.8f, 0}});
  const std::vector<TensorView> views{tensor.view()};
  auto processor = test::make_processor(two_tiles(), views);
  ASSERT_TRUE(processor);
  ASSERT_TRUE(processor->run(views));
  EXPECT_EQ(processor->funnel().kept, 2u);
  EXPECT_EQ(processor->funnel().merged_away, 1u);
  EXPECT_EQ(processor->plan().frames(), 1u);
}

TEST(Tiles, CountWhatFiltersDropped) {
  Settings settings = two_tiles();
  settings.filters.min_size = {{0, 20}, {}};
  const Tensor tensor = images({{10, 10, 40, 15, 0.9f, 0}}, {{40, 10, 70, 15, 0.8f, 0}});
  const std::vector<TensorView> views{tensor.view()};
  auto processor = test::make_processor(settings, views);
  ASSERT_TRUE(processor && processor->run(views));
  EXPECT_EQ(processor->detections().size(), 0u);
  EXPECT_EQ(processor->funnel().filtered_out, 2u);
}

/// The border is in pixels of the model input, which are three of the frame here.
TEST(Tiles, AreCutByPixelsOfTheModel) {
  const Size frame{540, 300};
  const Letterbox at{.frame = {300, 300}, .model = {100, 100}, .scale_x = 3, .scale_y = 3};
  Settings settings = two_tiles();
  settings.tiles = {tile_of({0, 0, {300, 300}}, frame, at),
                    tile_of({240, 0, {300, 300}}, frame, at)};
  settings.letterbox = settings.tiles[0].letterbox;
  settings.frame.size = frame;
  const Tensor tensor = images({{82, 10, 99.3f, 40, 0.9f, 0}}, {{2, 10, 35, 40, 0.5f, 0}});
  const auto found = joined(settings, tensor);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].score, 0.5f) << "0.7 pixels of the model, 2.1 of the frame";
}

TEST(Tiles, AreCutWhereTheInputEnds) {
  const Letterbox cropped{
      .frame = {100, 100}, .model = {100, 100}, .scale_x = 0.5f, .scale_y = 1, .pad_x = -50};
  const Tile tile = tile_of({80, 0, {100, 100}}, {180, 100}, cropped);
  EXPECT_EQ(tile.area, (Box{105, 0, 155, 100}));
}

TEST(Tiles, OfManyBoxesTakeNoSeconds) {
  std::mt19937 random(5);
  const auto uniform = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  Settings settings = test::pixel_settings();
  const Size frame{3200, 3200};
  settings.tiles.clear();
  const auto areas = tile_areas({.size = frame}, {.columns = 8, .rows = 8});
  for (const PixelArea& each : *areas)
    settings.tiles.push_back(tile_of(each, frame, {.frame = each.size, .model = each.size}));
  settings.letterbox = settings.tiles.front().letterbox;
  settings.frame.size = frame;
  settings.max_detections = 2000;
  settings.tile_rules.threshold = 1;
  std::vector<Row> all;
  const auto side = static_cast<float>(areas->front().size.width);
  for (int i = 0; i < 64 * 1000; ++i) {
    const float x = uniform(0, side - 20), y = uniform(0, side - 20);
    all.push_back({x, y, x + uniform(5, 20), y + uniform(5, 20), uniform(0.3f, 1), float(i % 3)});
  }
  Tensor tensor = rows(all);
  tensor.shape = {64, 1000, 6};
  const auto begun = test::cpu_time();
  EXPECT_EQ(joined(settings, tensor).size(), 2000u);
  EXPECT_LT(test::cpu_time() - begun, std::chrono::seconds(4));
}

TEST(Tiles, NeedOneImageEach) {
  Settings settings = two_tiles();
  settings.tiles.push_back(settings.tiles.back());
  const Tensor tensor = images({{82, 10, 98, 40, 0.9f, 0}}, {{2, 10, 18, 40, 0.8f, 0}});
  const std::vector<TensorView> views{tensor.view()};
  const auto plan = make_plan(settings, views);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message().find("has 3 tiles, but the tensors are of 2 images"),
            std::string::npos)
      << plan.error().message();
}

/// A box of one tile, as found by decoding that tile alone.
struct Alone {
  Detection box;
  size_t tile;
  bool cut, dropped = false;
};

float overlap(const Box& a, const Box& b, TileMerge merge) {
  const float w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const float h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (w <= 0 || h <= 0) return 0;
  const float area_a = (a.x2 - a.x1) * (a.y2 - a.y1), area_b = (b.x2 - b.x1) * (b.y2 - b.y1);
  return w * h / (merge == TileMerge::kIos ? std::min(area_a, area_b) : area_a + area_b - w * h);
}

/// Joins boxes of tiles that were decoded one by one: again and again the best of all boxes that
/// are left drops those that it overlaps with.
std::vector<Detection> joined_by_hand(std::vector<Alone> all, const TileRules& rules, size_t most) {
  std::vector<Detection> kept;
  const auto before = [](const Alone& a, const Alone& b) {
    return std::tuple(a.cut, -a.box.score, a.tile) < std::tuple(b.cut, -b.box.score, b.tile);
  };
  while (!all.empty()) {
    const auto best = std::ranges::min_element(all, before);
    const Alone taken = *best;
    all.erase(best);
    kept.push_back(taken.box);
    if (rules.merge == TileMerge::kNone) continue;
    Box& whole = kept.back().box;
    std::erase_if(all, [&](const Alone& each) {
      const Box& box = each.box.box;
      const bool dropped = each.tile != taken.tile && each.box.class_id == taken.box.class_id &&
                           overlap(box, taken.box.box, rules.merge) > rules.threshold;
      if (dropped && rules.united && overlap(box, whole, rules.merge) > rules.threshold)
        whole = {std::min(whole.x1, box.x1), std::min(whole.y1, box.y1), std::max(whole.x2, box.x2),
                 std::max(whole.y2, box.y2)};
      return dropped;
    });
  }
  std::ranges::stable_sort(kept, std::greater{}, &Detection::score);
  kept.resize(std::min(kept.size(), most));
  return kept;
}

TEST(Tiles, EqualThoseDecodedOneByOneAndJoined) {
  std::mt19937 random(11);
  const auto uniform = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  for (int round = 0; round < 200; ++round) {
    Settings settings = two_tiles();
    settings.max_detections = round % 3 ? 300 : 7;
    settings.tile_rules = {static_cast<TileMerge>(round % 3), uniform(0.1f, 0.8f), uniform(-1, 10),
                           round % 2 == 0};
    std::vector<Row> list[2];
    for (int object = 0; object < 12; ++object) {
      const float x = uniform(-10, 180), y = uniform(-10, 90), w = uniform(5, 50),
                  h = uniform(5, 50);
      for (int tile = 0; tile < 2; ++tile) {
        const float left = x - 80.0f * float(tile) + uniform(-2, 2);
        list[tile].push_back({left, y, left + w, y + h, uniform(0.2f, 1), float(object % 2)});
      }
    }
    std::vector<Alone> all;
    for (size_t tile = 0; tile < 2; ++tile) {
      Settings alone = settings;
      alone.tiles.clear();
      alone.letterbox = settings.tiles[tile].letterbox;
      for (const Detection& each : joined(alone, rows(list[tile]))) {
        const Box& b = each.box;
        const bool cut = settings.tile_rules.border >= 0 &&
                         (tile == 0 ? b.x2 >= 100 - settings.tile_rules.border
                                    : b.x1 <= 80 + settings.tile_rules.border);
        all.push_back({each, tile, cut});
      }
    }
    const auto want = joined_by_hand(all, settings.tile_rules, settings.max_detections);
    const auto got = joined(settings, images(list[0], list[1]));
    ASSERT_EQ(got.size(), want.size()) << round;
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].box, want[i].box) << round;
      EXPECT_EQ(got[i].score, want[i].score) << round;
    }
  }
}

}  // namespace
}  // namespace keepbox
