// SPDX-License-Identifier: LGPL-2.1-or-later
// Times joining the boxes of a frame's tiles, for crowds of several sizes.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "core/run/tile_merger.h"
#include "tests/tileboxes.h"

namespace keepbox {
namespace {

constexpr Size kFrame{3840, 2160};
constexpr TileGrid kGrid{.columns = 3, .rows = 2, .overlap = 0.2f, .whole = true};

struct Scene {
  const char* name;
  size_t boxes;  // of all tiles
  uint32_t classes = 1;
  float smallest = 12, largest = 40;  // sides
  TileRules rules;
};

constexpr Scene kScenes[] = {
    {"pair", 2},
    {"few", 16},
    {"forty", 40},
    {"hundred", 100},
    {"crowd", 1124},
    {"three classes", 1124, 3},
    {"united", 1124, 1, 12, 40, {.united = true}},
    {"by union", 1124, 1, 12, 40, {.merge = TileMerge::kIou}},
    {"unmerged", 1124, 1, 12, 40, {.merge = TileMerge::kNone}},
    {"all sizes", 1124, 1, 8, 800},
    {"large crowd", 7000},
};

class Crowd {
 public:
  Crowd(const Scene& scene, const Plan& plan) : scene_(scene), plan_(plan) {
    for (auto& each : centres_) each = {uniform(0, 3840), uniform(0, 2160)};
    boxes.tiles.resize(plan.tiles.size());
    size_t count = 0;
    while (count < scene.boxes) count += add_object(scene.boxes - count);
    boxes.finish();
  }

  test::TileBoxes boxes;

 private:
  struct Point {
    float x, y;
  };

  float uniform(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }

  /// Adds what the tiles see of an object in one of the groups. @return up to `most` boxes.
  size_t add_object(size_t most) {
    const Point& at = centres_[std::uniform_int_distribution<size_t>(0, 39)(random_)];
    std::normal_distribution<float> aside(0, 120);
    const float x = at.x + aside(random_), y = at.y + aside(random_);
    const float height =
        scene_.smallest * std::pow(scene_.largest / scene_.smallest, uniform(0, 1));
    const float width = height * uniform(0.5f, 1);
    const auto id = std::uniform_int_distribution<uint32_t>(0, scene_.classes - 1)(random_);
    size_t count = 0;
    for (size_t tile = 0; tile < plan_.tiles.size() && count < most; ++tile) {
      const float slip = 0.05f * height;
      const Box seen{x + uniform(-slip, slip), y + uniform(-slip, slip),
                     x + width + uniform(-slip, slip), y + height + uniform(-slip, slip)};
      count += add_box(tile, seen, id) ? 1 : 0;
    }
    return count;
  }

  /// Adds the part of a box that a tile sees, if that is a quarter of it, and nothing in the tile
  /// suppresses it.
  bool add_box(size_t tile, const Box& box, uint32_t id) {
    const Box& area = plan_.tiles[tile].area;
    const Box seen{std::max(box.x1, area.x1), std::max(box.y1, area.y1), std::min(box.x2, area.x2),
                   std::min(box.y2, area.y2)};
    if (!(seen.x1 < seen.x2 && seen.y1 < seen.y2)) return false;
    const auto size_of = [](const Box& b) { return (b.x2 - b.x1) * (b.y2 - b.y1); };
    if (size_of(seen) < 0.25f * size_of(box) || uniform(0, 1) < 0.2f) return false;
    for (const Detection& other : boxes.tiles[tile]) {
      const float shared =
          std::max(0.0f, std::min(other.box.x2, seen.x2) - std::max(other.box.x1, seen.x1)) *
          std::max(0.0f, std::min(other.box.y2, seen.y2) - std::max(other.box.y1, seen.y1));
      if (other.class_id == id && shared > 0.45f * (size_of(other.box) + size_of(seen) - shared))
        return false;
    }
    boxes.tiles[tile].push_back({.box = seen, .score = uniform(0.05f, 0.95f), .class_id = id});
    return true;
  }

  const Scene& scene_;
  const Plan& plan_;
  std::mt19937 random_{1};
  Point centres_[40];
};

/// Prints the median and the least time of a frame in microseconds.
void time(const Scene& scene) {
  Plan plan = test::plan_of_tiles(kFrame, kGrid, 7000, scene.classes);
  plan.tile_rules = scene.rules;
  const Crowd crowd(scene, plan);
  auto merger = TileMerger::create(plan);
  std::vector<double> spent(scene.boxes > 2000 ? 101 : 1001);
  const size_t frames = 1 + 1000 / scene.boxes;  // of a measurement
  for (double& each : spent) {
    const auto begun = std::chrono::steady_clock::now();
    for (size_t i = 0; i < frames; ++i)
      if (!merger || !merger->run(plan, crowd.boxes, {}, {})) return;
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
    each = took.count() / static_cast<double>(frames);
  }
  std::ranges::sort(spent);
  std::printf("%-14s %4zu boxes to %4zu  %9.2f us median  %9.2f us least\n", scene.name,
              scene.boxes, merger->detections().size(), spent[spent.size() / 2], spent.front());
}

}  // namespace
}  // namespace keepbox

int main() {
  for (const keepbox::Scene& scene : keepbox::kScenes) keepbox::time(scene);
}
