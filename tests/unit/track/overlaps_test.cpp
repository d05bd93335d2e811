// SPDX-License-Identifier: LGPL-2.1-or-later
// Overlapping pairs against a test of all pairs.
#include "core/track/assign.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/unit/track/second.h"

namespace keepbox {
namespace {

TEST(Overlaps, AreThoseOfAllPairs) {
  std::mt19937 random(3);
  const auto at = [&](int most) { return static_cast<float>(random() % most); };
  OverlapFinder finder;
  for (int round = 0; round < 300; ++round) {
    std::vector<KindBox> sides[2];
    for (auto& side : sides)
      for (int left = static_cast<int>(random() % 40); left > 0; --left) {
        // Whole pixels, so that many edges are equal; a few are very wide.
        const float x = at(200), y = at(200), w = at(random() % 10 == 0 ? 200 : 30), h = at(30);
        side.push_back({{x, y, x + w, y + h}, random() % 2});
      }
    std::vector<std::pair<uint32_t, uint32_t>> expected, found;
    for (uint32_t a = 0; a < sides[0].size(); ++a)
      for (uint32_t b = 0; b < sides[1].size(); ++b)
        if (sides[0][a].kind == sides[1][b].kind &&
            test::iou64(sides[0][a].box, sides[1][b].box) > 0)
          expected.emplace_back(a, b);
    for (const Overlap& o : finder.find(sides[0], sides[1])) {
      found.emplace_back(o.row, o.col);
      EXPECT_NEAR(o.iou, test::iou64(sides[0][o.row].box, sides[1][o.col].box), 1e-6);
    }
    ASSERT_EQ(found, expected) << round;
  }
}

TEST(Overlaps, AreFoundFarFromTheOrigin) {
  // Floats are 2 pixels apart here; rounding must not hide a box that begins far to the left.
  const float far = 1 << 24;
  OverlapFinder finder;
  const KindBox row{{far - 4, 0, far, 10}, 0};
  for (const float left : {-far, -1.0f, far - 6})
    EXPECT_EQ(finder.find(std::vector{row}, std::vector{KindBox{{left, 0, far - 2, 10}, 0}}).size(),
              1u)
        << left;
}

TEST(Overlaps, AreTheLargestOfTooMany) {
  std::vector<KindBox> cols;
  for (int i = 0; i < 100; ++i)
    cols.push_back({{0, 0, 10, 10 + static_cast<float>((i + 1) / 2)}, 0});  // 10, 11, 11, ...
  OverlapFinder finder;
  const auto found = finder.find(std::vector{KindBox{{0, 0, 10, 10}, 0}}, cols);
  ASSERT_EQ(found.size(), OverlapFinder::kMaxPerRow);
  for (uint32_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].col, i);
}

TEST(Overlaps, SkipWhatIsNoBox) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  OverlapFinder finder;
  const KindBox row{{0, 0, 10, 10}, 0};
  for (const Box& bad : {Box{nan, 0, 5, 5}, Box{0, 0, nan, 5}, Box{-inf, -inf, inf, inf},
                         Box{5, 5, 5, 5}, Box{8, 8, 2, 2}})
    EXPECT_TRUE(finder.find(std::vector{row}, std::vector{KindBox{bad, 0}}).empty());

  // Among others, whose order they must not disturb.
  std::vector<KindBox> cols;
  for (int i = 0; i < 100; ++i) {
    const auto x = static_cast<float>(i * 37 % 100);
    cols.push_back({i % 3 == 0 ? Box{nan, 0, nan, 9} : Box{x, 0, x + 0.5f, 9}, 0});
  }
  EXPECT_EQ(finder.find(std::vector{KindBox{{0, 0, 100, 9}, 0}}, cols).size(),
            OverlapFinder::kMaxPerRow);
}

}  // namespace
}  // namespace keepbox
