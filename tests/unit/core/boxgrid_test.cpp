// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes near another one are found by their places, without visiting all boxes.
#include "core/run/tile_merger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace keepbox {
namespace {

constexpr Size kGridFrame{1280, 720};

/// A grid of boxes, and how many of them each_near() visits.
struct Filled {
  std::vector<Box> boxes;
  std::vector<uint32_t> slots = std::vector<uint32_t>(boxes.size());
  BoxGrid grid;

  explicit Filled(std::vector<Box> list) : boxes(std::move(list)) {
    EXPECT_TRUE(grid.grow(boxes.size(), ""));
    grid.fill(boxes, kGridFrame, slots);
  }

  std::vector<bool> near(const Box& box) const {
    std::vector<bool> out(boxes.size());
    grid.each_near(box, [&](BoxGrid::Range range) {
      for (uint32_t slot = range.first; slot < range.end; ++slot) {
        EXPECT_FALSE(out[slot]) << "slot " << slot << " is visited twice";
        out[slot] = true;
      }
    });
    return out;
  }

  double mean_visits() const {
    size_t visits = 0;
    for (const Box& box : boxes) visits += static_cast<size_t>(std::ranges::count(near(box), true));
    return static_cast<double>(visits) / static_cast<double>(boxes.size());
  }
};

/// Boxes with sides of `low` to `high` pixels, some across the border of the frame or outside.
std::vector<Box> scattered(size_t count, float low, float high) {
  std::minstd_rand random(3);
  const auto uniform = [&](float from, float to) {
    return from + (to - from) * static_cast<float>(random() % 65536) / 65536;
  };
  std::vector<Box> out;
  for (size_t i = 0; i < count; ++i) {
    const float x = uniform(-60, 1300), y = uniform(-60, 740);
    out.push_back({x, y, x + uniform(low, high), y + uniform(low, high)});
  }
  return out;
}

std::vector<Box> of_all_sizes() {
  std::vector<Box> out = scattered(900, 8, 16);
  for (const Box& box : scattered(60, 60, 90)) out.push_back(box);
  for (const Box& box : scattered(3, 600, 700)) out.push_back(box);
  return out;
}

TEST(BoxGrid, GivesEachBoxASlot) {
  for (const size_t count : {1u, 5u, 40u, 900u}) {
    std::vector<uint32_t> slots = Filled(scattered(count, 5, 90)).slots;
    std::ranges::sort(slots);
    for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(slots[i], i);
  }
}

TEST(BoxGrid, VisitsAllBoxesThatTouch) {
  for (const auto& boxes : {scattered(3, 5, 90), scattered(300, 5, 500), of_all_sizes()}) {
    const Filled filled(boxes);
    for (const Box& box : boxes) {
      const std::vector<bool> near = filled.near(box);
      for (size_t i = 0; i < boxes.size(); ++i)
        if (touch(box, boxes[i])) ASSERT_TRUE(near[filled.slots[i]]) << i;
    }
  }
}

TEST(BoxGrid, VisitsFewOthers) {
  EXPECT_LT(Filled(scattered(900, 8, 16)).mean_visits(), 15);
  EXPECT_LT(Filled(of_all_sizes()).mean_visits(), 15) << "large boxes widen the search for small";
}

}  // namespace
}  // namespace keepbox
