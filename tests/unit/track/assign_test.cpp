// SPDX-License-Identifier: LGPL-2.1-or-later
// Assignment against all assignments, with random and equal weights, and its limits.
#include "core/track/assign.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "tests/cputime.h"
#include "tests/unit/track/second.h"

namespace keepbox {
namespace {

/// Weights as a matrix; below 0: no pair.
using Weights = std::vector<std::vector<double>>;

std::vector<uint32_t> solve(Assigner& assigner, const Weights& weights, uint32_t cols) {
  std::vector<Pair> pairs;
  for (uint32_t row = 0; row < weights.size(); ++row)
    for (uint32_t col = 0; col < cols; ++col)
      if (weights[row][col] >= 0)
        pairs.push_back({row, col, static_cast<float>(weights[row][col])});
  const auto found = assigner.solve(static_cast<uint32_t>(weights.size()), cols, pairs);
  return {found.begin(), found.end()};
}

/// Compares with all assignments. @param levels number of different weights: few make ties.
void compare(uint32_t most, int levels, double gaps, int rounds) {
  std::mt19937 source(static_cast<unsigned>(levels) * 31 + most);
  const auto random = [&] { return static_cast<uint32_t>(source()); };
  Assigner assigner;
  for (int round = 0; round < rounds; ++round) {
    const uint32_t rows = random() % (most + 1), cols = random() % (most + 1);
    Weights weights(rows, std::vector<double>(cols));
    for (auto& row : weights)
      for (double& weight : row)
        weight = random() % 1000 < gaps * 1000 ? -1 : int(random() % 4096) % levels / 1024.0;
    const auto expected =
        test::try_all(rows, cols, [&](uint32_t row, uint32_t col) { return weights[row][col]; });
    ASSERT_EQ(solve(assigner, weights, cols), expected) << "round " << round << ", " << levels;
  }
}

TEST(Assign, IsTheLargestSum) { compare(6, 1024, 0.3, 3000); }
TEST(Assign, TakesTheFirstOfEqualSums) {
  for (const int levels : {1, 2, 3, 5})
    for (const double gaps : {0.0, 0.3, 0.7}) compare(6, levels, gaps, 1500);
}
TEST(Assign, IsTheLargestSumOfMore) { compare(10, 40, 0.5, 300); }

TEST(Assign, LeavesARowUnmatchedForALargerSum) {
  Assigner assigner;
  EXPECT_EQ(solve(assigner, {{0.5, -1}, {0.9, -1}}, 2), (std::vector{kUnmatched, 0u}));
  EXPECT_EQ(solve(assigner, {{0.5, 0.4}, {0.9, -1}}, 2), (std::vector{1u, 0u}));
}

TEST(Assign, MatchesPairsThatAddNothing) {
  Assigner assigner;
  EXPECT_EQ(solve(assigner, {{0, 0}, {0, 0}}, 2), (std::vector{0u, 1u}));
}

TEST(Assign, TakesEmptyProblems) {
  Assigner assigner;
  EXPECT_TRUE(solve(assigner, {}, 3).empty());
  EXPECT_EQ(solve(assigner, {{}, {}}, 0), (std::vector{kUnmatched, kUnmatched}));
}

TEST(Assign, EndsSoonInTheWorstCase) {
  // Twice as many rows as columns that they can have.
  const uint32_t side = 1500, each = 64;
  for (const bool equal : {true, false}) {
    std::vector<Pair> pairs;
    for (uint32_t row = 0; row < side; ++row)
      for (uint32_t col = 0; col < each; ++col)
        pairs.push_back(
            {row, row / 2 + col,
             equal ? 0.5f : static_cast<float>((row * 7919 + col * 104729) % 997) / 997});
    const auto start = test::cpu_time();
    Assigner assigner;
    const auto found = assigner.solve(side, side + each, pairs);
    EXPECT_LT(test::cpu_time() - start, std::chrono::seconds(4)) << equal;
    std::vector<bool> taken(side + each);
    for (const uint32_t col : found)
      if (col != kUnmatched) {
        EXPECT_FALSE(taken[col]);
        taken[col] = true;
      }
  }
}

/// One matching only, although each row has pairs of equal weight with all columns before its own:
/// every search for a lower column sees all later rows.
TEST(Assign, EndsSoonIfNoTieCanChange) {
  const uint32_t side = 600;
  std::vector<Pair> pairs;
  for (uint32_t row = 0; row < side; ++row)
    for (uint32_t col = 0; col < side - row; ++col) pairs.push_back({row, col, 0.5f});
  const auto start = test::cpu_time();
  Assigner assigner;
  const auto found = assigner.solve(side, side, pairs);
  EXPECT_LT(test::cpu_time() - start, std::chrono::seconds(10));
  for (uint32_t row = 0; row < side; ++row) ASSERT_EQ(found[row], side - 1 - row);
}

}  // namespace
}  // namespace keepbox
