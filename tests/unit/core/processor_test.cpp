// SPDX-License-Identifier: LGPL-2.1-or-later
// Whole frames through the reference backend: invariants and corner cases.
#include "core/run/processor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "core/model/contracts.h"
#include "tests/scene.h"

namespace keepbox {
namespace {

using test::detect;
using test::pixel_settings;
using test::Row;
using test::Tensor;

std::vector<Row> random_rows(unsigned seed, size_t count, unsigned classes = 3) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> place(0, 500), size(10, 140), score(0, 1);
  std::vector<Row> out;
  for (size_t i = 0; i < count; ++i) {
    const float x = place(random), y = place(random);
    out.push_back({x, y, x + size(random), y + size(random), score(random),
                   static_cast<float>(random() % classes)});
  }
  return out;
}

Settings greedy() {
  Settings settings = pixel_settings();
  settings.nms_method = NmsMethod::kGreedy;
  settings.max_detections = 100000;
  return settings;
}

std::vector<Detection> run(const Settings& settings, const std::vector<Row>& rows) {
  const Tensor tensor = test::rows(rows);
  auto found = detect(settings, {tensor.view()});
  EXPECT_TRUE(found) << found.error().message();
  return found.value_or(std::vector<Detection>());
}

TEST(NmsInvariants, NmsIsIdempotent) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto kept = run(greedy(), random_rows(seed, 300));
    std::vector<Row> again;
    for (const Detection& d : kept)
      again.push_back(
          {d.box.x1, d.box.y1, d.box.x2, d.box.y2, d.score, static_cast<float>(d.class_id)});
    EXPECT_EQ(run(greedy(), again).size(), kept.size()) << seed;
  }
}

TEST(NmsInvariants, ClassesAreIndependent) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto rows = random_rows(seed, 300);
    std::vector<uint32_t> united;
    for (uint32_t class_id = 0; class_id < 3; ++class_id) {
      Settings one = greedy();
      one.include_classes = {class_id};
      for (const uint32_t anchor : test::anchors_of(run(one, rows))) united.push_back(anchor);
    }
    auto all = test::anchors_of(run(greedy(), rows));
    std::ranges::sort(united);
    std::ranges::sort(all);
    EXPECT_EQ(united, all) << seed;
  }
}

TEST(NmsInvariants, AgnosticKeepsNoMore) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto rows = random_rows(seed, 300);
    Settings agnostic = greedy();
    agnostic.class_agnostic = true;
    EXPECT_LE(run(agnostic, rows).size(), run(greedy(), rows).size());
  }
}

TEST(Order, IsScoreThenAnchor) {
  const auto kept = run(greedy(), {{0, 0, 10, 10, 0.5f, 0},
                                   {100, 0, 110, 10, 0.9f, 0},
                                   {200, 0, 210, 10, 0.5f, 1},
                                   {300, 0, 310, 10, 0.5f, 0}});
  EXPECT_EQ(test::anchors_of(kept), (std::vector<uint32_t>{1, 0, 2, 3}));
}

TEST(Threshold, IsExclusive) {
  EXPECT_TRUE(run(greedy(), {{0, 0, 10, 10, 0.25f, 0}}).empty());
  EXPECT_EQ(run(greedy(), {{0, 0, 10, 10, std::nextafter(0.25f, 1.f), 0}}).size(), 1u);
}

TEST(Threshold, IsInclusiveInSomeContracts) {
  const std::set<std::string_view> inclusive{"deepstream", "efficientnms", "inclusive",
                                             "mediapipe",  "tensorrt-pro", "tflite"};
  for (const NmsContract& contract : contracts()) {
    Settings settings = greedy();
    settings.nms_contract = contract.name;
    EXPECT_EQ(run(settings, {{0, 0, 10, 10, 0.25f, 0}}).size(), inclusive.contains(contract.name))
        << contract.name;
  }
}

TEST(Threshold, OfAClassReplacesTheCommonOne) {
  Settings settings = greedy();
  settings.class_thresholds = {{1, 0.8f}, {2, 0.1f}};
  const auto kept = run(settings, {{0, 0, 10, 10, 0.7f, 0},
                                   {100, 0, 110, 10, 0.7f, 1},
                                   {200, 0, 210, 10, 0.2f, 2},
                                   {300, 0, 310, 10, 0.2f, 0}});
  EXPECT_EQ(test::anchors_of(kept), (std::vector<uint32_t>{0, 2}));
}

TEST(NotFinite, IsDroppedAndCounted) {
  const Tensor tensor = test::rows({{test::kNan, 0, 10, 10, 0.9f, 0},
                                    {0, 0, test::kInfinity, 10, 0.9f, 0},
                                    {0, 0, 10, 10, test::kNan, 0},
                                    {0, 0, 10, 10, test::kInfinity, 0},
                                    {0, 0, 10, 10, 0.9f, test::kNan},
                                    {0, 0, 10, 10, 0.9f, -1},
                                    {0, 0, 10, 10, 0.9f, 1e9f},
                                    {50, 50, 60, 60, 0.8f, 4}});
  const TensorView view = tensor.view();
  for (const bool per_class : {false, true}) {
    Settings settings = greedy();
    if (per_class) settings.class_thresholds = {{3, 0.5f}};
    auto processor = test::make_processor(settings, std::span(&view, 1));
    ASSERT_TRUE(processor) << processor.error().message();
    ASSERT_TRUE(processor->run(std::span(&view, 1)));
    ASSERT_EQ(processor->detections().size(), 1u);
    EXPECT_EQ(processor->detections()[0].class_id, 4u);
    EXPECT_EQ(processor->funnel().anchors, 8u);
    EXPECT_EQ(processor->funnel().above_threshold, 7u);  // a NaN score is not above the threshold
    EXPECT_EQ(processor->funnel().not_finite, 6u);
  }
}

TEST(Funnel, CountsEachStep) {
  Settings settings = greedy();
  settings.exclude_classes = {2};
  settings.pre_nms_top_k = 3;
  const Tensor tensor = test::rows({{0, 0, 10, 10, 0.9f, 0},       // kept
                                    {1, 0, 11, 10, 0.8f, 0},       // suppressed
                                    {-50, 0, -20, 10, 0.7f, 0},    // kept, clipped away
                                    {100, 0, 110, 10, 0.6f, 0},    // beyond top-k
                                    {200, 0, 210, 10, 0.9f, 2},    // filtered class
                                    {300, 0, 310, 10, 0.1f, 0}});  // below the threshold
  const TensorView view = tensor.view();
  auto processor = test::make_processor(settings, std::span(&view, 1));
  ASSERT_TRUE(processor && processor->run(std::span(&view, 1)));
  const Funnel& f = processor->funnel();
  EXPECT_EQ(f.anchors, 6u);
  EXPECT_EQ(f.above_threshold, 5u);
  EXPECT_EQ(f.after_class_filter, 4u);
  EXPECT_EQ(f.after_top_k, 3u);
  EXPECT_EQ(f.kept, 2u);
  EXPECT_EQ(f.clipped_away, 1u);
  EXPECT_EQ(processor->detections().size(), 1u);
}

TEST(Clip, KeepsBoxesThatTouchTheBorder) {
  const auto kept = run(greedy(), {{-5, -5, 20, 20, 0.9f, 0}, {600, 600, 700, 640.5f, 0.8f, 0}});
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].box, (Box{0, 0, 20, 20}));
  EXPECT_EQ(kept[1].box, (Box{600, 600, 640, 640}));
}

TEST(MaxDetections, IsTotalOrPerClass) {
  std::vector<Row> rows;
  for (int i = 0; i < 12; ++i)
    rows.push_back(
        {float(i) * 50, 0, float(i) * 50 + 10, 10, 0.9f - float(i) * 0.01f, float(i % 2)});
  Settings settings = greedy();
  settings.max_detections = 3;
  EXPECT_EQ(test::anchors_of(run(settings, rows)), (std::vector<uint32_t>{0, 1, 2}));
  settings.nms_contract = "onnx";
  EXPECT_EQ(run(settings, rows).size(), 6u);
  settings.max_detections = 0;
  EXPECT_TRUE(run(settings, rows).empty());
}

TEST(Method, NoneKeepsOverlappingBoxes) {
  Settings settings = pixel_settings();
  EXPECT_EQ(run(settings, {{0, 0, 10, 10, 0.9f, 0}, {0, 0, 10, 10, 0.8f, 0}}).size(), 2u);
  settings.nms_method = NmsMethod::kGreedy;
  EXPECT_EQ(run(settings, {{0, 0, 10, 10, 0.9f, 0}, {0, 0, 10, 10, 0.8f, 0}}).size(), 1u);
}

TEST(Planes, GiveTheSameBoxesAsRows) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> place(20, 300), score(0, 0.5f);
  constexpr size_t kAnchors = 2100, kChannels = 10;
  Tensor planes{.values = std::vector<float>(kAnchors * kChannels),
                .shape = {1, kChannels, kAnchors},
                .id = "yolo-v8-out"};
  Tensor rows{.values = planes.values, .shape = {1, kAnchors, kChannels}, .id = "yolo-v8-out"};
  for (size_t a = 0; a < kAnchors; ++a)
    for (size_t c = 0; c < kChannels; ++c)
      planes.values[c * kAnchors + a] = rows.values[a * kChannels + c] =
          c < 4 ? place(random) : score(random);
  const auto left = detect(pixel_settings(320), {planes.view()});
  const auto right = detect(pixel_settings(320), {rows.view()});
  ASSERT_TRUE(left && right);
  ASSERT_GT(left->size(), 10u);
  ASSERT_EQ(left->size(), right->size());
  for (size_t i = 0; i < left->size(); ++i) {
    EXPECT_EQ((*left)[i].box, (*right)[i].box);
    EXPECT_EQ((*left)[i].anchor, (*right)[i].anchor);
  }
}

TEST(Argmax, ChoosesTheFirstOfEqualsAndNeverNan) {
  Settings settings = pixel_settings();
  settings.detector = "yolov8";
  Tensor planes{.values = std::vector<float>(80, 0), .shape = {1, 8, 10}, .id = "yolo-v8-out"};
  const float one[8] = {50, 50, 20, 20, test::kNan, 0.7f, 0.7f, 0.6f};
  for (size_t c = 0; c < 8; ++c) planes.values[c * 10 + 3] = one[c];
  const auto found = detect(settings, {planes.view()});
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].class_id, 1u);
  EXPECT_EQ((*found)[0].anchor, 3u);
  EXPECT_EQ((*found)[0].box, (Box{40, 40, 60, 60}));
}

TEST(Argmax, BeforeAndAfterObjectness) {
  // One class score is one ulp above the other; multiplied by the objectness both round to one
  // float.
  const float objectness = 0.6444024443626404f;
  const float low = 0.8642294406890869f, high = 0.8642295002937317f;
  const auto best = [&](const char* detector) {
    Tensor tensor{.values = std::vector<float>(21 * 7, 0), .shape = {1, 21, 7}};
    const float row[7] = {10, 10, 4, 4, objectness, low, high};
    std::ranges::copy(row, tensor.values.begin());
    Settings settings = pixel_settings(32);
    settings.detector = detector;
    const auto found = detect(settings, {tensor.view()});
    return found && found->size() == 1 ? static_cast<int>((*found)[0].class_id) : -1;
  };
  EXPECT_EQ(best("yolov5"), 0);         // product first: equal, the lower class
  EXPECT_EQ(best("yolox-decoded"), 1);  // class first
}

TEST(Batch, KeepsImagesApart) {
  Tensor tensor = test::rows({{0, 0, 10, 10, 0.9f, 0},
                              {50, 0, 60, 10, 0.8f, 1},
                              {0, 0, 10, 10, 0.7f, 2},
                              {0, 0, 10, 10, 0.1f, 3}});
  tensor.shape = {2, 2, 6};
  const TensorView view = tensor.view();
  auto processor = test::make_processor(greedy(), std::span(&view, 1));
  ASSERT_TRUE(processor) << processor.error().message();
  ASSERT_TRUE(processor->run(std::span(&view, 1)));
  EXPECT_EQ(processor->detections(0).size(), 2u);
  ASSERT_EQ(processor->detections(1).size(), 1u);
  EXPECT_EQ(processor->detections(1)[0].class_id, 2u);
}

TEST(Run, RejectsATensorThatShrank) {
  const Tensor tensor = test::rows(random_rows(1, 10));
  TensorView view = tensor.view();
  auto processor = test::make_processor(greedy(), std::span(&view, 1));
  ASSERT_TRUE(processor);
  view.bytes -= 1;
  const auto status = processor->run(std::span(&view, 1));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kTruncated);
}

TEST(Backend, CanBeNamed) {
  const Tensor tensor = test::rows(random_rows(1, 10));
  const TensorView view = tensor.view();
  const auto plan = make_plan(greedy(), std::span(&view, 1));
  ASSERT_TRUE(plan);
  const auto chosen = select_backend("reference", *plan, MemorySpace::kSystem);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->backend->name, "reference");
  EXPECT_FALSE(chosen->reason.empty());
  EXPECT_FALSE(select_backend("reference", *plan, MemorySpace::kCuda));
  EXPECT_FALSE(select_backend("no such", *plan, MemorySpace::kSystem));
  setenv("KEEPBOX_BACKEND", "no such", 1);
  EXPECT_FALSE(select_backend("auto", *plan, MemorySpace::kSystem));
  unsetenv("KEEPBOX_BACKEND");
  EXPECT_TRUE(select_backend("auto", *plan, MemorySpace::kSystem));
}

}  // namespace
}  // namespace keepbox
