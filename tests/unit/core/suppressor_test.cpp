// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression as an operation of its own, compared with its definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "core/model/nms_methods.h"
#include "tests/boxlist.h"
#include "tests/scene.h"
#include "tests/unit/core/oriented64.h"

namespace keepbox {
namespace {

using test::BoxTable;
using test::KeptOf;
using test::kInfinity;
using test::kNan;
using KeptIndices = std::vector<int64_t>;

KeptIndices kept_indices(const Settings& settings, const Backend& backend, const BoxTable& table) {
  const auto found = test::suppressed(settings, backend, table);
  EXPECT_TRUE(found) << found.error().message();
  return found ? found->front() : KeptIndices{-1};
}

/// Expects the indices from every backend of the host.
void expect_kept(const Settings& settings, const BoxTable& table, const KeptIndices& want) {
  for (const Backend* backend : test::host_backends())
    EXPECT_EQ(kept_indices(settings, *backend, table), want) << backend->name;
}

Settings by_contract(std::string_view contract, NmsMethod method = NmsMethod::kAuto) {
  Settings settings = suppression_defaults();
  settings.nms_contract = contract;
  settings.nms_method = method;
  return settings;
}

/// Objects of several boxes each, in whole pixels around a place, with few different scores.
BoxTable crowd_of_boxes(std::mt19937& random, uint32_t count, float at, int classes) {
  const auto number = [&](int below) { return static_cast<float>(int(random()) % below); };
  BoxTable out;
  float x = 0, y = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (i % 6 == 0) x = at + number(600), y = at + number(600);
    const float left = x + number(12), top = y + number(12);
    out.add({left, top, left + 30 + number(20), top + 20 + number(20)}, number(50) / 32.0f - 0.5f);
    if (classes > 0) out.classes.push_back(int(random() % unsigned(classes)));
  }
  return out;
}

/// Returns the overlap of two boxes, by float arithmetic.
float float_iou(const BoxTable& of, int64_t i, int64_t j) {
  const float *a = &of.boxes[size_t(i) * 4], *b = &of.boxes[size_t(j) * 4];
  const float width = std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]), 0.0f);
  const float height = std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]), 0.0f);
  const auto area = [](const float* box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  return width * height / ((area(a) + area(b)) - width * height);
}

/// Keeps the best box and removes those that it overlaps, until none is left.
KeptIndices by_definition(const BoxTable& table, float threshold) {
  KeptIndices left(table.count()), out;
  std::iota(left.begin(), left.end(), 0);
  std::ranges::stable_sort(left, std::greater(),
                           [&](int64_t i) { return table.scores[size_t(i)]; });
  const auto id = [&](int64_t i) { return table.classes.empty() ? 0 : table.classes[size_t(i)]; };
  while (!left.empty()) {
    const int64_t best = left.front();
    out.push_back(best);
    std::erase_if(left, [&](int64_t i) {
      return i == best || (id(i) == id(best) && float_iou(table, best, i) > threshold);
    });
  }
  return out;
}

TEST(Suppressor, FollowsTheDefinition) {
  std::mt19937 random(1);
  size_t dropped = 0;
  for (int round = 0; round < 60; ++round) {
    const auto count = static_cast<uint32_t>(random() % (round % 10 == 0 ? 3000 : 300));
    const float at = std::array{0.0f, -300.0f, -9000.0f, 70000.0f}[size_t(round) % 4];
    const BoxTable table = crowd_of_boxes(random, count, at, round % 3 == 0 ? 0 : 5);
    Settings settings = suppression_defaults();
    settings.iou_threshold = 0.3f + 0.1f * static_cast<float>(round % 5);
    const KeptIndices want = by_definition(table, *settings.iou_threshold);
    dropped += count - want.size();
    for (const char* contract : {"exact", "torchvision", "tensorflow", "detectron2"}) {
      settings.nms_contract = contract;
      expect_kept(settings, table, want);
    }
    settings.nms_contract = "exact";
    settings.max_detections = 7;
    expect_kept(settings, table,
                {want.begin(), want.begin() + ptrdiff_t(std::min<size_t>(7, want.size()))});
  }
  EXPECT_GT(dropped, 2000u);
}

TEST(Suppressor, OfOrientedBoxesFollowsTheDefinition) {
  std::mt19937 random(2);
  const auto number = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  unsigned clear = 0;
  for (int round = 0; round < 30; ++round) {
    BoxTable table{.oriented = true};
    std::vector<test::Oriented64> boxes;
    for (int i = 0; i < 60; ++i) {
      const float v[] = {number(-80, 80), number(-80, 80), number(20, 60), number(5, 40),
                         number(-4, 4)};
      table.add({v, v + 5}, 1.0f - 0.01f * static_cast<float>(i));
      boxes.push_back(test::rounded({v[0], v[1], v[2], v[3], v[4]}));
    }
    KeptIndices want;
    bool sure = true;
    for (int64_t i = 0; i < 60; ++i)
      if (std::ranges::none_of(want, [&](int64_t k) {
            const double over = test::polygon_iou(boxes[size_t(k)], boxes[size_t(i)]);
            sure = sure && std::abs(over - 0.2) > 1e-4;
            return over > 0.2;
          }))
        want.push_back(i);
    if (!sure) continue;
    ++clear;
    EXPECT_LT(want.size(), 55u);
    for (const char* contract : {"exact", "mmcv", "detectron2", "faster-rcnn"}) {
      Settings settings = by_contract(contract, NmsMethod::kGreedy);
      settings.iou_threshold = 0.2f;
      expect_kept(settings, table, want);
    }
  }
  EXPECT_GT(clear, 15u);
}

TEST(Suppressor, HasNoBoxesOrOne) {
  for (const NmsContract& contract : contracts())
    for (const NmsTraits& method : kNmsMethods)
      for (const bool oriented : {false, true}) {
        const Settings settings = by_contract(contract.name, method.method);
        BoxTable table{.oriented = oriented};
        expect_kept(settings, table, {});
        table.add(oriented ? std::vector<float>{5, 5, 10, 10, 1} : std::vector<float>{0, 0, 9, 9},
                  -3, 2047);
        expect_kept(settings, table, {0});
      }
}

TEST(Suppressor, OrdersEqualScoresAsTheContract) {
  BoxTable table;
  for (int i = 0; i < 40; ++i) table.add({10, 10, 20, 20}, 0.5f);
  expect_kept(by_contract("exact"), table, {0});
  expect_kept(by_contract("numpy"), table, {39});
  expect_kept(by_contract("faster-rcnn"), table, {39});
  Settings all = by_contract("numpy", NmsMethod::kNone);
  KeptIndices reversed(40);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  expect_kept(all, table, reversed);
  all.nms_contract = "exact";
  std::ranges::reverse(reversed);
  expect_kept(all, table, reversed);
  table.scores[7] = -0.0f, table.scores[8] = 0.0f;
  std::ranges::rotate(reversed.begin() + 7, reversed.begin() + 9, reversed.end());
  expect_kept(all, table, reversed);
}

TEST(Suppressor, DropsBoxesThatAreNotFinite) {
  BoxTable table;
  table.add({0, 0, 10, 10}, kNan);
  table.add({0, kNan, 10, 10}, 0.9f);
  table.add({0, 0, kInfinity, 10}, 0.8f);
  table.add({0, 0, 10, 10}, kInfinity);
  table.add({-kInfinity, 0, 10, 10}, 0.7f);
  table.add({0, 0, 10, 10}, -kInfinity);
  table.add({0, 0, 10, 10}, -1e38f);
  table.add({1e38f, 1e38f, 2e38f, 2e38f}, 0.1f);
  for (const NmsContract& contract : contracts())
    for (const NmsTraits& method : kNmsMethods)
      expect_kept(by_contract(contract.name, method.method), table, {7, 6});
  BoxTable oriented{.oriented = true};
  oriented.add({5, 5, 10, 10, kNan}, 0.9f);
  oriented.add({5, kNan, 10, 10, 0}, 0.8f);
  oriented.add({5, 5, 10, kInfinity, 0}, 0.7f);
  oriented.add({5, 5, 10, 10, 1e30f}, 0.6f);
  expect_kept(suppression_defaults(), oriented, {3});
}

TEST(Suppressor, AppliesAScoreThresholdIfSet) {
  BoxTable table;
  for (const float score : {-2.0f, 0.0f, 0.25f, 0.5f})
    table.add({100 * score, 0, 100 * score + 9, 9}, score);
  expect_kept(suppression_defaults(), table, {3, 2, 1, 0});
  Settings settings = suppression_defaults();
  settings.score_threshold = 0.25f;
  expect_kept(settings, table, {3});
  settings.nms_contract = "inclusive";
  expect_kept(settings, table, {3, 2});
  settings.score_threshold = -2;
  settings.nms_contract = "exact";
  expect_kept(settings, table, {3, 2, 1});
}

TEST(Suppressor, ShiftsClassesLikeTheFramework) {
  // The offset of class 2047 rounds corners to whole pixels, which makes the boxes equal; a box
  // wider than the offset reaches into the next class.
  BoxTable table;
  table.add({10.1f, 10, 11.9f, 20}, 0.9f, 2047);
  table.add({10.4f, 10, 12.3f, 20}, 0.8f, 2047);
  table.add({0, 0, 9000, 9000}, 0.7f, 0);
  table.add({0, 0, 1200, 1200}, 0.6f, 1);
  Settings settings = by_contract("ultralytics");
  settings.iou_threshold = 0.01f;
  expect_kept(settings, table, {0, 2});
  settings.class_agnostic = true;
  expect_kept(settings, table, {0, 2});
  settings.class_agnostic = false;
  settings.iou_threshold = 0.7f;
  expect_kept(settings, table, {0, 2, 3});
  settings.nms_contract = "exact";
  expect_kept(settings, table, {0, 1, 2, 3});
}

TEST(Suppressor, LimitsBoxesPerClassByTheContract) {
  BoxTable table;
  for (int i = 0; i < 6; ++i) {
    const float x = static_cast<float>(20 * i);
    table.add({x, 0, x + 10, 10}, 0.9f - 0.1f * static_cast<float>(i), i % 2);
  }
  Settings settings = by_contract("onnx");
  settings.max_detections = 2;
  expect_kept(settings, table, {0, 1, 2, 3});
  settings.nms_contract = "exact";
  expect_kept(settings, table, {0, 1});
  settings.max_detections = 0;
  expect_kept(settings, table, {});
}

TEST(Suppressor, KeepsProblemsApart) {
  std::mt19937 random(3);
  BoxTable table;
  for (int i = 0; i < 100; ++i) {
    table.starts.push_back(table.count());
    const auto count = static_cast<uint32_t>(random() % (i % 9 == 4 ? 1 : 200));
    const BoxTable one = crowd_of_boxes(random, count, 0, 3);
    table.boxes.insert(table.boxes.end(), one.boxes.begin(), one.boxes.end());
    table.scores.insert(table.scores.end(), one.scores.begin(), one.scores.end());
    table.classes.insert(table.classes.end(), one.classes.begin(), one.classes.end());
  }
  for (const Backend* backend : test::host_backends()) {
    const auto all = test::suppressed(suppression_defaults(), *backend, table);
    ASSERT_TRUE(all) << all.error().message();
    ASSERT_EQ(all->size(), 100u);
    for (uint32_t i = 0; i < 100; ++i) {
      KeptIndices alone = kept_indices(suppression_defaults(), *backend, table.problem(i));
      for (int64_t& index : alone) index += table.starts[i];
      EXPECT_EQ((*all)[i], alone) << i;
    }
  }
}

TEST(Suppressor, WorksAgainAfterMoreAndFewerBoxes) {
  std::mt19937 random(4);
  for (const NmsTraits& method : kNmsMethods)
    for (const Backend* backend : test::host_backends()) {
      const Settings settings = by_contract("exact", method.method);
      auto suppressor = Suppressor::create(settings, false, *backend);
      ASSERT_TRUE(suppressor);
      for (const uint32_t count : {3u, 500u, 40u, 0u, 900u, 1u}) {
        const BoxTable table = crowd_of_boxes(random, count, 0, 4);
        const auto found = test::suppressed(*suppressor, table);
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(found->front(), kept_indices(settings, *backend, table))
            << method.name << ' ' << count;
      }
    }
}

/// Returns the error of a table.
Error list_error(const Settings& settings, const BoxTable& table) {
  const auto found = test::suppressed(settings, *test::host_backends().front(), table);
  EXPECT_FALSE(found);
  return found ? Error{} : found.error();
}

TEST(Suppressor, RejectsWhatItCannotKeepApart) {
  BoxTable table;
  table.add({0, 0, 1, 1}, 0.5f, 0);
  for (const int64_t id : {int64_t{-1}, int64_t{2048}, std::numeric_limits<int64_t>::max()}) {
    table.classes[0] = id;
    EXPECT_EQ(list_error(suppression_defaults(), table).message(),
              "The class " + std::to_string(id) +
                  " of box 0 is not one of 0 to 2047. Number the classes from 0, or pass none to "
                  "let all boxes suppress each other.");
  }
  table.classes.clear();
  for (const std::vector<uint32_t>& starts :
       {std::vector<uint32_t>{1}, std::vector<uint32_t>{0, 2}, std::vector<uint32_t>{0, 1, 0}}) {
    table.starts = starts;
    EXPECT_EQ(list_error(suppression_defaults(), table).kind, ErrorKind::kInvalid);
  }
}

TEST(Suppressor, RejectsMoreBoxesThanAKeyHas) {
  BoxTable table;
  table.scores.resize(size_t{kMaxAnchors} + 1);
  table.boxes.resize(4 * table.scores.size());
  EXPECT_EQ(list_error(suppression_defaults(), table).message(),
            "A problem has 2097153 boxes: the maximum is 2097152. Leave out those with the lowest "
            "scores.");
}

TEST(Suppressor, RejectsMorePairsThanAMethodCompares) {
  BoxTable table;
  for (int i = 0; i < 20000; ++i) table.add({0, 0, 1, 1}, i < 500 ? 0.9f : 0.1f);
  Settings settings = by_contract("exact", NmsMethod::kMatrix);
  EXPECT_EQ(list_error(settings, table).message(),
            "nms-method=matrix compares pairs, and 20000 boxes are too many for that: the maximum "
            "is 16384. Set score-threshold= or max-detections=, or another nms-method=.");
  settings.score_threshold = 0.5f;
  EXPECT_TRUE(test::suppressed(settings, *test::host_backends().front(), table));
  settings.score_threshold = 0;
  settings.nms_method = NmsMethod::kGreedy;
  expect_kept(settings, table, {0});
}

TEST(Suppressor, UsesTheBestCandidatesOfAContract) {
  BoxTable table;
  for (int i = 0; i < 6000; ++i) {
    const float x = static_cast<float>(i % 100 * 10), y = static_cast<float>(i / 100 * 10);
    table.add({x, y, x + 5, y + 5}, static_cast<float>(i));
  }
  for (const Backend* backend : test::host_backends()) {
    EXPECT_EQ(kept_indices(by_contract("efficientnms"), *backend, table).size(), 5000u);
    EXPECT_EQ(kept_indices(by_contract("exact"), *backend, table).size(), 6000u);
  }
}

TEST(Suppressor, RejectsSettingsThatAreNotPossible) {
  const Backend& backend = *test::host_backends().front();
  const auto message = [&](Settings settings) {
    const auto made = Suppressor::create(settings, false, backend);
    return made ? "" : made.error().message();
  };
  Settings settings = suppression_defaults();
  EXPECT_EQ(message(settings), "");
  settings.iou_threshold = 1.5f;
  EXPECT_EQ(message(settings),
            "iou-threshold=1.5 is not possible. Set iou-threshold= to a number from 0 to 1.");
  settings = suppression_defaults();
  settings.score_threshold = kNan;
  EXPECT_NE(message(settings), "");
  settings.score_threshold = kInfinity;
  EXPECT_NE(message(settings), "");
  EXPECT_NE(message(by_contract("nothing")), "");
}

TEST(Suppressor, NeedsABuildForItsMemory) {
  if (find_backend("cuda") != nullptr) GTEST_SKIP() << "this build has CUDA";
  const auto plan = plan_suppression(suppression_defaults(), false);
  ASSERT_TRUE(plan);
  const auto selection = select_backend("auto", *plan, MemorySpace::kCuda);
  ASSERT_FALSE(selection);
  EXPECT_EQ(selection.error().message(),
            "This build has no backend for CUDA memory. Copy the data to system memory, or build "
            "keepbox with CUDA.");
}

}  // namespace
}  // namespace keepbox
