// SPDX-License-Identifier: LGPL-2.1-or-later
// The methods of suppression: which boxes each keeps, and how many the inexact one loses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <utility>

#include "core/model/nms_methods.h"
#include "tests/bench/scenes.h"
#include "tests/recorded.h"
#include "tests/unit/core/hosts.h"

namespace keepbox {
namespace {

using test::Row;

constexpr NmsMethod kExact[] = {NmsMethod::kGreedy, NmsMethod::kBitmask, NmsMethod::kSegmented};

/// Returns the anchors that a method keeps.
std::vector<uint32_t> kept(NmsMethod method, Settings settings, const test::Tensor& tensor) {
  settings.nms_method = method;
  const auto found = test::detect(settings, {tensor.view()});
  EXPECT_TRUE(found) << found.error().message();
  return test::anchors_of(found.value_or(std::vector<Detection>()));
}

/// Keeps one box per class.
Settings one_a_class() {
  Settings settings = test::pixel_settings();
  settings.nms_contract = "onnx";
  settings.max_detections = 1;
  return settings;
}

/// Each box overlaps only the next one; the third has another class.
const std::vector<Row> kChain{{0, 0, 10, 10, 0.9f, 0},
                              {3, 0, 13, 10, 0.8f, 0},
                              {6, 0, 16, 10, 0.7f, 0},
                              {6, 0, 16, 10, 0.6f, 2047}};

TEST(Methods, FastSuppressedBoxesSuppress) {
  const auto chain = test::rows(kChain);
  for (const NmsMethod method : kExact)
    EXPECT_EQ(kept(method, test::pixel_settings(), chain), (std::vector<uint32_t>{0, 2, 3}));
  EXPECT_EQ(kept(NmsMethod::kFast, test::pixel_settings(), chain), (std::vector<uint32_t>{0, 3}));
}

TEST(Methods, ClassesSuppressEachOtherOnlyIfSet) {
  Settings agnostic = test::pixel_settings();
  agnostic.class_agnostic = true;
  for (const NmsMethod method : kExact)
    EXPECT_EQ(kept(method, agnostic, test::rows(kChain)), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(kept(NmsMethod::kFast, agnostic, test::rows(kChain)), (std::vector<uint32_t>{0}));
}

TEST(Methods, ExactBoxBeyondTheClassLimitSuppressesNothing) {
  // Class 0 is full after the first box; the second one would have suppressed the third.
  const auto boxes =
      test::rows({{0, 0, 10, 10, 0.9f, 0}, {50, 0, 60, 10, 0.8f, 0}, {50, 0, 60, 10, 0.7f, 1}});
  Settings settings = one_a_class();
  settings.class_agnostic = true;
  for (const NmsMethod method : kExact)
    EXPECT_EQ(kept(method, settings, boxes), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(kept(NmsMethod::kFast, settings, boxes), (std::vector<uint32_t>{0}));
}

TEST(Methods, ContinueAfterAFullClass) {
  const auto boxes =
      test::rows({{0, 0, 10, 10, 0.9f, 0}, {50, 0, 60, 10, 0.8f, 0}, {100, 0, 110, 10, 0.7f, 1}});
  for (const NmsTraits& each : std::span(kNmsMethods).subspan(1))
    EXPECT_EQ(kept(each.method, one_a_class(), boxes), (std::vector<uint32_t>{0, 2})) << each.name;
}

TEST(Methods, WorkWithoutBoxesOrCapacity) {
  Settings none = test::pixel_settings();
  none.max_detections = 0;
  for (const NmsTraits& each : std::span(kNmsMethods).subspan(1)) {
    EXPECT_TRUE(kept(each.method, none, test::rows(kChain)).empty());
    EXPECT_TRUE(kept(each.method, test::pixel_settings(), test::rows({})).empty());
  }
}

/// Returns the boxes that a method keeps, in the order of their anchors.
std::vector<Detection> boxes_by(NmsMethod method, Settings settings, const test::Tensor& tensor) {
  settings.nms_method = method;
  auto found = test::detect(settings, {tensor.view()}).value_or(std::vector<Detection>());
  std::ranges::sort(found, {}, &Detection::anchor);
  return found;
}

bool same_boxes(const std::vector<Detection>& a, const std::vector<Detection>& b) {
  return std::ranges::equal(a, b, [](const Detection& x, const Detection& y) {
    return x.anchor == y.anchor && x.score == y.score && x.box == y.box;
  });
}

TEST(Methods, HaveTheTraitsOfTheirRows) {
  std::mt19937 random(1);
  const auto crowd = test::scene(random, true, 8400, {.objects = 150});
  Settings settings = test::pixel_settings();
  settings.max_detections = kMaxAnchors;
  settings.class_agnostic = true;
  Settings higher = settings;
  higher.iou_threshold = 0.9f;
  const auto all = boxes_by(NmsMethod::kNone, settings, crowd);
  const auto greedy = boxes_by(NmsMethod::kGreedy, settings, crowd);
  for (const NmsTraits& each : std::span(kNmsMethods).subspan(1)) {
    const auto found = boxes_by(each.method, settings, crowd);
    bool moved = false, rescored = false;
    for (const Detection& box : found) {
      const auto raw = std::ranges::lower_bound(all, box.anchor, {}, &Detection::anchor);
      moved |= raw->box != box.box;
      rescored |= raw->score != box.score;
    }
    EXPECT_EQ(each.exact, same_boxes(found, greedy)) << each.name;
    EXPECT_EQ(each.moves_boxes, moved) << each.name;
    EXPECT_EQ(each.rescores, rescored) << each.name;
    const bool ignored = same_boxes(found, boxes_by(each.method, higher, crowd));
    EXPECT_EQ(!each.by_threshold, ignored && each.method != NmsMethod::kNone) << each.name;
  }
}

TEST(Methods, AreInTheManual) {
  const char* source = std::getenv("KEEPBOX_SOURCE");
  if (source == nullptr) GTEST_SKIP() << "KEEPBOX_SOURCE names no checkout";
  const auto bytes = test::read_file(std::filesystem::path(source) / "docs/nms.md");
  const std::string page(bytes.begin(), bytes.end());
  const size_t first = page.find("\n## Methods"), end = page.find("\n## Limits");
  ASSERT_LT(first, end);
  const std::string section = page.substr(first, end - first);
  for (const NmsTraits& each : std::span(kNmsMethods).subspan(1))
    EXPECT_TRUE(section.contains("`" + std::string(each.name) + "`")) << each.name;
}

/// Returns how many boxes of a crowd greedy keeps, and how many of those fast loses.
std::pair<size_t, size_t> losses(size_t objects, bool class_agnostic) {
  std::mt19937 random(1);
  const auto crowd = test::scene(random, true, 8400, {.objects = objects});
  Settings settings = test::pixel_settings();
  settings.max_detections = kMaxAnchors;
  settings.class_agnostic = class_agnostic;
  auto greedy = kept(NmsMethod::kGreedy, settings, crowd);
  auto fast = kept(NmsMethod::kFast, settings, crowd);
  for (const NmsMethod method : kExact) EXPECT_EQ(kept(method, settings, crowd), greedy);
  std::ranges::sort(greedy);
  std::ranges::sort(fast);
  EXPECT_TRUE(std::ranges::includes(greedy, fast));
  return {greedy.size(), greedy.size() - fast.size()};
}

TEST(Methods, FastLosesBoxesOfACrowd) {
  using Counts = std::pair<size_t, size_t>;
  EXPECT_EQ(losses(100, false), Counts(130, 0));  // quoted in README.md
  EXPECT_EQ(losses(100, true), Counts(123, 10));
  EXPECT_EQ(losses(400, true), Counts(415, 67));
}

TEST(Methods, FastKeepsAtMostTheLimitOnVectors) {
  std::vector<Row> apart;
  for (int i = 0; i < 40; ++i) {
    const float x = static_cast<float>(i) * 15;
    apart.push_back({x, 0, x + 10, 10, 0.9f - static_cast<float>(i) * 0.01f, 0});
  }
  const test::Tensor tensor = test::rows(apart);
  const TensorView view = tensor.view();
  Settings settings = test::pixel_settings();
  settings.nms_method = NmsMethod::kFast;
  settings.max_detections = 7;
  const std::vector<uint32_t> first{0, 1, 2, 3, 4, 5, 6};
  test::on_each_host(settings, view, [&](Processor& processor, auto name) {
    EXPECT_EQ(test::anchors_of(processor.detections()), first) << name;
  });
}

}  // namespace
}  // namespace keepbox
