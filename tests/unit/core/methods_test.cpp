// SPDX-License-Identifier: LGPL-2.1-or-later
// The methods of suppression: which boxes each keeps, and how many the inexact one loses.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "tests/bench/scenes.h"

namespace keepbox {
namespace {

using test::Row;

constexpr NmsMethod kExact[] = {NmsMethod::kGreedy, NmsMethod::kBitmask, NmsMethod::kSegmented};

/// Returns the anchors that a method keeps.
std::vector<uint32_t> kept(NmsMethod method, Settings settings, const test::Tensor& tensor) {
  settings.method = method;
  const auto found = test::detect(settings, {tensor.view()});
  EXPECT_TRUE(found) << found.error().message();
  return test::anchors_of(found.value_or(std::vector<Detection>()));
}

/// Keeps one box per class.
Settings one_a_class() {
  Settings settings = test::pixel_settings();
  settings.contract = "onnx";
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
  for (int method = static_cast<int>(NmsMethod::kGreedy);
       method <= static_cast<int>(NmsMethod::kMerge); ++method)
    EXPECT_EQ(kept(static_cast<NmsMethod>(method), one_a_class(), boxes),
              (std::vector<uint32_t>{0, 2}))
        << method;
}

TEST(Methods, WorkWithoutBoxesOrCapacity) {
  Settings none = test::pixel_settings();
  none.max_detections = 0;
  for (const NmsMethod method :
       {NmsMethod::kGreedy, NmsMethod::kNone, NmsMethod::kBitmask, NmsMethod::kSegmented,
        NmsMethod::kFast, NmsMethod::kSoftLinear, NmsMethod::kSoftGaussian, NmsMethod::kWeighted,
        NmsMethod::kDiou, NmsMethod::kMatrix, NmsMethod::kMatrixLinear, NmsMethod::kMerge}) {
    EXPECT_TRUE(kept(method, none, test::rows(kChain)).empty());
    EXPECT_TRUE(kept(method, test::pixel_settings(), test::rows({})).empty());
  }
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

}  // namespace
}  // namespace keepbox
