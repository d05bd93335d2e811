// SPDX-License-Identifier: LGPL-2.1-or-later
// Size and region filters.
#include "core/formula/filter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/formula/emit.h"
#include "tests/scene.h"

namespace keepbox {
namespace {

using test::Row;
using test::Tensor;

/// Returns the anchors of the remaining boxes, which are the indices of the rows.
std::vector<uint32_t> left(const FilterSettings& filters, const std::vector<Row>& rows,
                           Funnel* funnel = nullptr, uint32_t side = 640) {
  Settings settings = test::pixel_settings(side);
  settings.model_size = {640, 640};
  settings.nms_method = NmsMethod::kGreedy;
  settings.filters = filters;
  const Tensor tensor = test::rows(rows);
  const TensorView view = tensor.view();
  auto processor = test::make_processor(settings, std::span(&view, 1));
  EXPECT_TRUE(processor && processor->run(std::span(&view, 1))) << processor.error().message();
  std::vector<uint32_t> out;
  for (const Detection& each : processor->detections()) out.push_back(each.anchor);
  if (funnel != nullptr) *funnel = processor->funnel();
  return out;
}

using Anchors = std::vector<uint32_t>;

/// Boxes side by side, best first.
Row sized(int number, float width, float height, int id = 0) {
  const float x = float(number) * 100;
  return {x, 0, x + width, height, 0.9f - float(number) * 0.01f, float(id)};
}

TEST(Sizes, LimitsAreInclusive) {
  const float below = std::nextafter(32.0f, 0.0f), above = std::nextafter(32.0f, 99.0f);
  const std::vector<Row> rows{
      sized(0, 32, 32), {0, 100, below, 132, 0.8f, 0}, {200, 0, 232, below, 0.7f, 0}};
  EXPECT_EQ(left({.min_size = {{32, 32}, {}}}, rows), (Anchors{0}));
  const std::vector<Row> large{
      {0, 0, 32, 32, 0.9f, 0}, {0, 0, above, 32, 0.8f, 1}, {0, 0, 32, above, 0.7f, 2}};
  EXPECT_EQ(left({.max_size = {{32, 32}, {}}}, large), (Anchors{0}));
  EXPECT_EQ(left({.min_size = {{32, 32}, {}}, .max_size = {{32, 32}, {}}}, large), (Anchors{0}));
}

TEST(Sizes, MayLimitOneSideOnly) {
  const std::vector<Row> rows{sized(0, 20, 50), sized(1, 50, 20)};
  EXPECT_EQ(left({.min_size = {{30, 0}, {}}}, rows), (Anchors{1}));
  EXPECT_EQ(left({.max_size = {{0, 30}, {}}}, rows), (Anchors{1}));
  EXPECT_EQ(left({}, rows), (Anchors{0, 1}));
}

TEST(Sizes, OfAClassReplaceTheGeneralOnes) {
  const std::vector<Row> rows{sized(0, 20, 20, 0), sized(1, 20, 20, 1), sized(2, 20, 20, 2),
                              sized(3, 60, 60, 3)};
  EXPECT_EQ(left({.min_size = {{30, 30}, {{1, {10, 10}}, {2, {}}}}}, rows), (Anchors{1, 2, 3}));
  EXPECT_EQ(left({.max_size = {{30, 30}, {{3, {60, 60}}, {0, {19, 60}}}}}, rows),
            (Anchors{1, 2, 3}));
}

TEST(Sizes, OfUnknownClassesAreIgnored) {
  Settings settings = test::pixel_settings(640);
  settings.model_size = {640, 640};
  settings.detector = "yolov8";
  for (uint32_t id = 0; id < 6; ++id)
    settings.filters.min_size.of_class.emplace_back(id, BoxSize{30, 30});
  // one box of 20x20 with three classes; a sanitizer detects writes past their limits
  const Tensor tensor{.values = {50, 50, 20, 20, 0, 0, 0.9f}, .shape = {1, 7, 1}};
  const TensorView view = tensor.view();
  auto processor = test::make_processor(settings, std::span(&view, 1));
  ASSERT_TRUE(processor && processor->run(std::span(&view, 1))) << processor.error().message();
  EXPECT_EQ(processor->plan().layout.classes, 3u);
  EXPECT_TRUE(processor->detections().empty());
}

TEST(Sizes, ApplyToClippedBoxesOnTheFrame) {
  const std::vector<Row> rows{sized(0, 20, 20), {-30, 100, 10, 140, 0.8f, 0}};
  EXPECT_EQ(left({.min_size = {{40, 40}, {}}}, rows, nullptr, 1280), (Anchors{0})) << "two to one";
  EXPECT_EQ(left({.max_size = {{10, 40}, {}}}, rows), (Anchors{1}))
      << "10 of 40 pixels are visible";
}

TEST(Filters, CountSeparatelyAndAfterTheLimit) {
  Funnel funnel;
  const std::vector<Row> rows{
      sized(0, 20, 20), sized(1, 90, 90), {-50, 0, -20, 10, 0.7f, 0}, {101, 0, 190, 90, 0.6f, 0}};
  EXPECT_EQ(left({.max_size = {{50, 50}, {}}}, rows, &funnel), (Anchors{0}));
  EXPECT_EQ(funnel.kept, 3u) << "a dropped box still suppresses";
  EXPECT_EQ(funnel.clipped_away, 1u);
  EXPECT_EQ(funnel.filtered_out, 1u);
}

/// Boxes inside of the region, across its edge, and outside.
const std::vector<Row> kThree{
    {100, 100, 140, 140, 0.9f, 0}, {190, 100, 230, 140, 0.8f, 0}, {300, 100, 340, 140, 0.7f, 0}};

TEST(Regions, CountByTheirRule) {
  FilterSettings filters{.regions = {{{100, 100, 211, 140}}}};
  EXPECT_EQ(left(filters, kThree), (Anchors{0, 1}));
  filters.rule = RegionRule::kInside;
  EXPECT_EQ(left(filters, kThree), (Anchors{0})) << "edges included";
  filters.rule = RegionRule::kTouch;
  EXPECT_EQ(left(filters, kThree), (Anchors{0, 1}));
  filters.regions = {{{141, 0, 300, 600}}};
  EXPECT_EQ(left(filters, kThree), (Anchors{1})) << "an edge has no area";
  std::swap(filters.regions, filters.excluded);
  EXPECT_EQ(left(filters, kThree), (Anchors{0, 2}));
}

TEST(Regions, InsideIncludesTheEdges) {
  const FilterSettings filters{.regions = {{{100, 200, 300, 400}}}, .rule = RegionRule::kInside};
  const float out = 0.5f;
  EXPECT_EQ(left(filters, {{100, 200, 300, 400, 0.9f, 0},
                           {100 - out, 200, 300, 400, 0.8f, 1},
                           {100, 200 - out, 300, 400, 0.7f, 2},
                           {100, 200, 300 + out, 400, 0.6f, 3},
                           {100, 200, 300, 400 + out, 0.5f, 4}}),
            (Anchors{0}));
  const FilterSettings frame{.regions = {{{0, 0, 1, 1}, 1}}, .rule = RegionRule::kInside};
  EXPECT_EQ(left(frame, {{-20, -20, 20, 20, 0.9f, 0}, {600, 600, 700, 700, 0.8f, 0}}),
            (Anchors{0, 1}))
      << "clipped to the frame";
}

TEST(Regions, NeverShareACentre) {
  const Region before{{0, 0, 210, 640}}, behind{{210, 0, 640, 640}};
  EXPECT_EQ(left({.regions = {before}}, kThree), (Anchors{0}));
  EXPECT_EQ(left({.regions = {behind}}, kThree), (Anchors{1, 2}));
  EXPECT_EQ(left({.regions = {before, behind}}, kThree), (Anchors{0, 1, 2}));
  EXPECT_EQ(left({.regions = {before, behind}, .excluded = {before}}, kThree), (Anchors{1, 2}));
}

TEST(Regions, InFractionsFollowTheFrame) {
  const FilterSettings filters{.regions = {{{0, 0, 0.25f, 1}, 1}}};
  EXPECT_EQ(left(filters, kThree), (Anchors{0}));
  EXPECT_EQ(left(filters, kThree, nullptr, 1280), (Anchors{0}));
  EXPECT_EQ(left({.regions = {{{0, 0, 160, 640}}}}, kThree, nullptr, 1280), (Anchors{}));
}

TEST(Filters, ChangeWithoutANewPlan) {
  const Tensor tensor = test::rows(kThree);
  const TensorView view = tensor.view();
  for (const Backend& backend : backends()) {
    if (backend.memory != MemorySpace::kSystem) continue;
    Settings settings = test::pixel_settings();
    auto processor = Processor::create(*make_plan(settings, std::span(&view, 1)), {&backend, ""});
    ASSERT_TRUE(processor);
    const auto count = [&](const FilterSettings& filters) {
      settings.filters = filters;
      EXPECT_TRUE(processor->retune(settings) && processor->run(std::span(&view, 1)));
      return processor->detections().size();
    };
    EXPECT_EQ(count({.min_size = {{41, 0}, {}}}), 0u) << backend.name;
    EXPECT_EQ(count({.excluded = {{{0, 0, 0.25f, 1}, 1}}}), 2u);
    EXPECT_EQ(count({}), 3u);
  }
}

TEST(Filters, OutOfRangeAreErrors) {
  const Tensor tensor = test::rows(kThree);
  const TensorView view = tensor.view();
  const auto refused = [&](const FilterSettings& filters, const char* property) {
    Settings settings = test::pixel_settings();
    settings.filters = filters;
    const auto plan = make_plan(settings, std::span(&view, 1));
    return !plan && plan.error().kind == ErrorKind::kInvalid &&
           plan.error().hint.find(property) != std::string::npos;
  };
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(refused({.min_size = {{-1, 0}, {}}}, "min-size"));
  EXPECT_TRUE(refused({.min_size = {{0, -1}, {}}}, "min-size"));
  EXPECT_TRUE(refused({.min_size = {{inf, 0}, {}}}, "min-size"));
  EXPECT_TRUE(refused({.min_size = {{0, inf}, {}}}, "min-size"));
  EXPECT_TRUE(refused({.max_size = {{0, nan}, {}}}, "max-size"));
  EXPECT_TRUE(refused({.min_size = {{}, {{0, {nan, 1}}}}}, "min-size"));
  EXPECT_TRUE(refused({.min_size = {{}, {{kMaxClasses, {1, 1}}}}}, "min-size"));
  EXPECT_TRUE(refused({.regions = {{{0, 0, 0, 5}}}}, "regions"));
  EXPECT_TRUE(refused({.excluded = {{{0, 0, nan, 5}}}}, "regions"));
  EXPECT_TRUE(refused({.regions = std::vector(kMaxRegions + 1, Region{{0, 0, 1, 1}})}, "regions"));
  EXPECT_FALSE(refused({.regions = std::vector(kMaxRegions, Region{{0, 0, 1, 1}})}, "regions"));
}

}  // namespace
}  // namespace keepbox
