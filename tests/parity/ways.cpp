// SPDX-License-Identifier: LGPL-2.1-or-later
// Ways to run processors, for every family of inputs.
#include "tests/parity/ways.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <format>
#include <utility>

#include "core/run/payload.h"
#include "tests/parity/cuda_subject.h"
#include "tests/parity/families.h"

namespace keepbox::test {
namespace {

std::vector<Way> ways() {
  std::vector<Way> out;
  for (const Backend& backend : backends())
    if (backend.memory == MemorySpace::kSystem)
      out.push_back({std::string(backend.name), backend, false});
  for (const std::string& name : cuda_subjects()) {
    const Backend backend = cuda_subject(name);
    out.push_back({name, backend, backend.memory == MemorySpace::kCuda});
  }
  return out;
}

bool same_masks(const Mask& a, const Mask& b) {
  return a.width == b.width && a.height == b.height && a.stride == b.stride && a.first == b.first &&
         a.place == b.place && std::equal(a.bits, a.row(a.height), b.bits);
}

std::vector<TensorView> views_of(const Input& input) {
  std::vector<TensorView> out;
  for (const Tensor& tensor : input.tensors) out.push_back(tensor.view());
  return out;
}

/// Returns the tensors that the plan reads, in its order.
std::vector<TensorView> read_by(const Plan& plan, const std::vector<TensorView>& views) {
  std::vector<TensorView> out;
  for (const uint32_t number : plan.reads) out.push_back(views[number]);
  return out;
}

}  // namespace

Result<Processor> Way::processor(const Plan& plan) const {
  return Processor::create(plan, {&backend, ""},
                           on_device ? MemorySpace::kCuda : MemorySpace::kSystem);
}

Status Way::run(Processor& processor, std::span<const TensorView> views) const {
  return on_device ? processor.run(OnDevice(views).views()) : processor.run(views);
}

void each_way(const std::function<void(const Way&, const Plan&, const std::vector<TensorView>&,
                                       const Settings&, const std::string&)>& what) {
  for (const Family& family : families()) {
    Random random(7);
    const Input input = family.make(random);
    if (input.shift != 0) continue;
    const auto all = views_of(input);
    const auto plan = make_plan(input.settings, all);
    ASSERT_TRUE(plan) << plan.error().message();
    for (const Way& way : ways())
      if (way.backend.supports(*plan))
        what(way, *plan, read_by(*plan, all), input.settings,
             std::format("{} by {}", family.name, way.name));
  }
}

Processor reference_of(const Plan& plan) {
  return std::move(*Processor::create(plan, {find_backend("reference"), ""}));
}

void expect_same(const Processor& a, uint32_t of_a, const Processor& b, uint32_t of_b,
                 const std::string& where) {
  const auto same_points = [](const Keypoint& p, const Keypoint& q) {
    return std::bit_cast<std::array<uint32_t, 3>>(p) == std::bit_cast<std::array<uint32_t, 3>>(q);
  };
  const auto same_boxes = [](const Detection& p, const Detection& q) {
    return p.anchor == q.anchor && p.class_id == q.class_id && p.score == q.score &&
           p.box == q.box && p.angle == q.angle;
  };
  EXPECT_TRUE(std::ranges::equal(a.detections(of_a), b.detections(of_b), same_boxes)) << where;
  EXPECT_TRUE(std::ranges::equal(a.keypoints(of_a), b.keypoints(of_b), same_points)) << where;
  EXPECT_TRUE(std::ranges::equal(a.masks(of_a), b.masks(of_b), same_masks)) << where;
}

void expect_same(const Processor& a, const Processor& b, const std::string& where) {
  for (uint32_t image = 0; image < a.plan().frames(); ++image)
    expect_same(a, image, b, image, where);
}

}  // namespace keepbox::test
