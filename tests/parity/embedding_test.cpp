// SPDX-License-Identifier: LGPL-2.1-or-later
// A payload that no model has: an embedding of eight values per box. Shows that plans, runners and
// processors use only its kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/model/nms_methods.h"
#include "core/run/processor.h"
#include "tests/parity/cuda_subject.h"
#include "tests/parity/inputs.h"
#include "tests/parity/second/second.h"
#include "tests/scene.h"

namespace keepbox::test {
namespace {

constexpr PayloadKind kEmbedding{"embedding", Moves::kFixed};
constexpr uint32_t kValues = 8, kAnchors = 400, kFirst = 5;

/// Planes of boxes that overlap a few others, one class, and the embedding.
Tensor planes() {
  Tensor out{.shape = {1, kFirst + kValues, kAnchors}};
  out.values.resize(size_t{kFirst + kValues} * kAnchors);
  std::mt19937 random(5);
  std::uniform_real_distribution<float> place(0, 320), score(0, 1), any(-3, 3);
  for (size_t i = 0; i < out.values.size(); ++i) {
    const size_t channel = i / kAnchors;
    out.values[i] = channel < 2   ? place(random)
                    : channel < 4 ? 30
                    : channel < 5 ? score(random)
                                  : any(random);
  }
  return out;
}

/// Returns a plan of the values as the embedding of a family with as many mask coefficients.
Plan plan_of(const Tensor& tensor, NmsMethod method) {
  const Tensor maps{.values = std::vector<float>(kValues * 16), .shape = {1, kValues, 4, 4}};
  Settings settings = pixel_settings(320);
  settings.detector = "yolov8-seg";
  settings.num_classes = 1;
  settings.nms_method = method;
  const std::vector views{tensor.view(), maps.view()};
  auto plan = make_plan(settings, views);
  EXPECT_TRUE(plan) << plan.error().message();
  plan->layout[FieldId::kPrototypes] = {};
  plan->forms.resize(1);
  plan->reads.resize(1);
  plan->payload = {.kind = kEmbedding, .count = kValues, .mean = traits_of(method).merges_payload};
  return *plan;
}

std::vector<Backend> host_backends() {
  std::vector<Backend> out{second_backend()};
  for (const Backend& backend : backends())
    if (backend.memory == MemorySpace::kSystem) out.push_back(backend);
  return out;
}

void expect_embeddings(const Processor& processor, const Tensor& tensor) {
  const std::span<const Detection> boxes = processor.detections();
  ASSERT_GT(boxes.size(), 50u);
  ASSERT_EQ(processor.payload().size(), boxes.size() * kValues);
  for (size_t i = 0; i < boxes.size() * kValues; ++i)
    EXPECT_EQ(processor.payload()[i],
              tensor.values[(kFirst + i % kValues) * kAnchors + boxes[i / kValues].anchor]);
  EXPECT_TRUE(processor.keypoints().empty());
  EXPECT_TRUE(processor.masks().empty());
}

TEST(Embeddings, AreThoseOfTheAnchors) {
  const Tensor tensor = planes();
  const Plan plan = plan_of(tensor, NmsMethod::kGreedy);
  const std::vector views{tensor.view()};
  for (const Backend& backend : host_backends()) {
    SCOPED_TRACE(backend.name);
    auto processor = Processor::create(plan, {&backend, ""});
    ASSERT_TRUE(processor) << processor.error().message();
    ASSERT_TRUE(processor->run(views));
    expect_embeddings(*processor, tensor);
    Letterbox moved = plan.letterbox;
    moved.scale_x *= 2;
    moved.pad_y += 8;
    processor->refit(moved, {}, moved.frame);
    ASSERT_TRUE(processor->run(views));
    expect_embeddings(*processor, tensor);
  }
}

TEST(Embeddings, OfMergedBoxesAreMeans) {
  const Tensor tensor = planes();
  const Plan plan = plan_of(tensor, NmsMethod::kWeighted);
  const std::vector views{tensor.view()};
  const Backend& reference = *find_backend("reference");
  auto want = Processor::create(plan, {&reference, ""});
  ASSERT_TRUE(want && want->run(views));
  ASSERT_GT(want->detections().size(), 20u);
  size_t merged = 0;
  for (size_t i = 0; i < want->payload().size(); ++i) {
    const uint32_t anchor = want->detections()[i / kValues].anchor;
    const float own = tensor.values[(kFirst + i % kValues) * kAnchors + anchor];
    EXPECT_LE(std::abs(want->payload()[i]), 3);
    merged += want->payload()[i] != own;
  }
  EXPECT_GT(merged, 20u);
  for (const Backend& backend : backends()) {
    if (backend.memory != MemorySpace::kSystem) continue;
    auto got = Processor::create(plan, {&backend, ""});
    ASSERT_TRUE(got && got->run(views));
    EXPECT_TRUE(std::ranges::equal(want->payload(), got->payload())) << backend.name;
  }
}

TEST(Embeddings, AreReadOnAGpu) {
  if (cuda_subjects().empty()) GTEST_SKIP() << "no CUDA device";
  const Tensor tensor = planes();
  const Plan plan = plan_of(tensor, NmsMethod::kGreedy);
  const std::vector views{tensor.view()};
  const Backend backend = cuda_subject("cuda");
  auto processor = Processor::create(plan, {&backend, ""}, MemorySpace::kCuda);
  ASSERT_TRUE(processor) << processor.error().message();
  ASSERT_TRUE(processor->run(OnDevice(views).views()));
  expect_embeddings(*processor, tensor);
}

}  // namespace
}  // namespace keepbox::test
