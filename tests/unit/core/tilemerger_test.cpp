// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes of random tiles joined, compared with a plain implementation.
#include "core/run/tile_merger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

#include "core/formula/oriented.h"
#include "tests/tileboxes.h"

namespace keepbox {
namespace {

/// A box of a tile.
struct Found {
  Detection box;
  Box bounds;
  size_t tile, rank;
  bool cut;
};

bool is_cut(const Box& box, const Tile& tile, float border) {
  const float x = border * tile.letterbox.scale_x, y = border * tile.letterbox.scale_y;
  const auto width = float(tile.letterbox.frame.width), height = float(tile.letterbox.frame.height);
  const bool left = tile.area.x1 > 0 && box.x1 <= tile.area.x1 + x;
  const bool top = tile.area.y1 > 0 && box.y1 <= tile.area.y1 + y;
  const bool right = tile.area.x2 < width && box.x2 >= tile.area.x2 - x;
  const bool bottom = tile.area.y2 < height && box.y2 >= tile.area.y2 - y;
  return border >= 0 && (left || top || right || bottom);
}

float area(const Box& b) { return (b.x2 - b.x1) * (b.y2 - b.y1); }

bool over(float shared, float area_a, float area_b, const TileRules& rules) {
  const bool by_smaller = rules.merge == TileMerge::kIos;
  return shared / (by_smaller ? std::min(area_a, area_b) : (area_a + area_b) - shared) >
         rules.threshold;
}

bool over(const Box& a, const Box& b, const TileRules& rules) {
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  return over(std::max(width, 0.0f) * std::max(height, 0.0f), area(a), area(b), rules);
}

bool over(const Found& a, const Found& b, const Plan& plan) {
  if (!touch(a.bounds, b.bounds)) return false;
  if (!plan.rules.oriented) return over(a.box.box, b.box.box, plan.tile_rules);
  const OrientedShape x = Oriented::moved(a.box.box, a.box.angle, 0);
  const OrientedShape y = Oriented::moved(b.box.box, b.box.angle, 0);
  const float area_a = Oriented::area(x, {}), area_b = Oriented::area(y, {});
  const float shared = std::min({OrientedPolygon::intersection(x, y), area_a, area_b});
  return over(shared, area_a, area_b, plan.tile_rules);
}

std::vector<Found> listed(const Plan& plan, const test::TileBoxes& boxes) {
  std::vector<Found> out;
  for (size_t tile = 0; tile < boxes.tiles.size(); ++tile)
    for (size_t rank = 0; rank < boxes.tiles[tile].size(); ++rank) {
      const Detection& each = boxes.tiles[tile][rank];
      const Box bounds = plan.rules.oriented ? around_oriented(each.box, each.angle) : each.box;
      const bool cut = is_cut(bounds, plan.tiles[tile], plan.tile_rules.border);
      out.push_back({each, bounds, tile, rank, cut});
    }
  return out;
}

/// Compares each box with all that are kept.
std::vector<Found> kept_of(const Plan& plan, std::vector<Found> all) {
  std::ranges::sort(all, {}, [](const Found& each) {
    return std::tuple(each.cut, -each.box.score, each.tile, each.rank);
  });
  if (plan.tile_rules.merge == TileMerge::kNone) return all;
  std::vector<Found> kept, grown;  // as they were, and extended
  for (const Found& each : all) {
    const auto suppresses = [&](const Found& better) {
      return better.tile != each.tile &&
             (plan.rules.contract.class_agnostic || better.box.class_id == each.box.class_id) &&
             over(better, each, plan);
    };
    const auto first = std::ranges::find_if(kept, suppresses);
    if (first == kept.end()) {
      kept.push_back(each), grown.push_back(each);
      continue;
    }
    Box& whole = grown[static_cast<size_t>(first - kept.begin())].box.box;
    const Box& box = each.box.box;
    if (plan.tile_rules.united && over(whole, box, plan.tile_rules))
      whole = {std::min(whole.x1, box.x1), std::min(whole.y1, box.y1), std::max(whole.x2, box.x2),
               std::max(whole.y2, box.y2)};
  }
  return grown;
}

std::vector<Detection> best_of(const Plan& plan, std::vector<Found> kept) {
  std::ranges::sort(kept, {}, [](const Found& each) {
    return std::tuple(-each.box.score, each.tile, each.rank);
  });
  std::vector<Detection> out;
  std::vector<uint32_t> of_class(plan.rules.class_ids);
  for (const Found& each : kept)
    if (out.size() < plan.tile_detections && of_class[each.box.class_id]++ < plan.tile_class_limit)
      out.push_back(each.box);
  return out;
}

/// Makes plans and boxes at random.
class Scenes {
 public:
  Plan plan() {
    const Size frame{whole(20, 4000), whole(20, 3000)};
    const TileGrid grid{.columns = whole(1, 4),
                        .rows = whole(1, 3),
                        .overlap = uniform(0, 0.6f),
                        .whole = whole(0, 1) != 0};
    Plan out = test::plan_of_tiles(frame, grid, 2 * kMost, 3);
    for (Tile& each : out.tiles) each.letterbox.scale_x = uniform(0.5f, 2);
    out.rules.oriented = whole(0, 3) == 0;
    out.rules.contract.class_agnostic = whole(0, 1) != 0;
    if (whole(0, 3) == 0) out.tile_detections = whole(0, 50);
    if (whole(0, 3) == 0) out.tile_class_limit = whole(0, 20);
    return out;
  }

  TileRules rules(bool oriented) {
    const float thresholds[] = {0, 1, 0.5f, uniform(0, 1)}, borders[] = {-1, 0, uniform(0, 40)};
    return {.merge = static_cast<TileMerge>(whole(0, 9) % 3),
            .threshold = thresholds[whole(0, 3)],
            .border = borders[whole(0, 2)],
            .united = !oriented && whole(0, 1) != 0};
  }

  test::TileBoxes boxes(const Plan& plan) {
    test::TileBoxes out;
    out.tiles.resize(plan.tiles.size());
    const auto [width, height] = plan.letterbox.frame;
    const uint32_t most = whole(0, 2) == 0 ? kMost : 20;
    grid_ = whole(0, 1) == 0 ? 8 : 0;
    largest_ = std::max(16.0f, float(std::max(width, height)) * uniform(0, 0.3f));
    const float x = uniform(0, float(width)), y = uniform(0, float(height));
    const float spread = uniform(0, 1);
    for (size_t tile = 0; tile < out.tiles.size(); ++tile)
      for (uint32_t count = whole(0, most); count > 0; --count) {
        const Box at = box(x + spread * (uniform(0, float(width)) - x),
                           y + spread * (uniform(0, float(height)) - y));
        add(out, tile, plan.rules.oriented ? at : clip(at, plan.letterbox.frame));
      }
    out.finish();
    return out;
  }

 private:
  static constexpr uint32_t kMost = 60;  // of a tile

  float uniform(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }
  uint32_t whole(uint32_t low, uint32_t high) {
    return std::uniform_int_distribution<uint32_t>(low, high)(random_);
  }
  /// Rounds so that some edges and scores are equal.
  float rounded(float value) const {
    return grid_ == 0 ? value : std::round(value / grid_) * grid_;
  }

  Box box(float x, float y) {
    const float w = 3 * std::pow(largest_ / 3, uniform(0, 1)), h = w * uniform(0, 2);
    return {rounded(x), rounded(y), rounded(x + w), rounded(y + h)};
  }

  /// Adds a box to a tile, and perhaps the same one, or one of no width, to the next one.
  void add(test::TileBoxes& out, size_t tile, Box at) {
    const float score = grid_ == 0 ? uniform(0, 1) : float(whole(0, 8)) / 8;
    const float angle = whole(0, 3) == 0 ? 0 : uniform(-2, 2);
    const uint32_t id = whole(0, 2), next = whole(0, 5);
    out.tiles[tile].push_back({.box = at, .score = score, .angle = angle, .class_id = id});
    tile = (tile + 1) % out.tiles.size();
    if (next > 1 || out.tiles[tile].size() >= kMost / 2) return;
    if (next == 1) at.x2 = at.x1;
    out.tiles[tile].push_back({.box = at, .score = score, .angle = angle, .class_id = id});
  }

  std::mt19937 random_{23};
  float grid_ = 0, largest_ = 0;
};

TEST(TileMerger, EqualsAPlainOne) {
  Scenes scenes;
  size_t merged = 0;
  for (int scene = 0; scene < 2000; ++scene) {
    Plan plan = scenes.plan();
    auto merger = TileMerger::create(plan);
    ASSERT_TRUE(merger);
    for (int frame = 0; frame < 3; ++frame) {
      plan.tile_rules = scenes.rules(plan.rules.oriented);
      const test::TileBoxes boxes = scenes.boxes(plan);
      const auto all = listed(plan, boxes), kept = kept_of(plan, all);
      const auto want = best_of(plan, kept);
      ASSERT_TRUE(merger->run(plan, boxes, {}, {}));
      const auto got = merger->detections();
      ASSERT_EQ(merger->funnel().merged_away, all.size() - kept.size()) << scene;
      ASSERT_EQ(merger->funnel().boxes(), want.size()) << scene;
      ASSERT_EQ(got.size(), want.size()) << scene;
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].box, want[i].box) << scene;
        ASSERT_EQ(got[i].score, want[i].score) << scene;
        ASSERT_EQ(got[i].anchor, want[i].anchor) << scene;
      }
      merged += merger->funnel().merged_away;
    }
  }
  EXPECT_GT(merged, 10'000u);
}

}  // namespace
}  // namespace keepbox
