// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression of circles on every backend, for any geometry.
#include "tests/parity/circles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <format>
#include <string_view>

#include "core/formula/emit.h"
#include "core/reference/nms.h"
#ifdef KEEPBOX_SIMD
#include "kernels/simd/backend.h"
#endif
#include "tests/parity/candidates.h"
#include "tests/parity/circle.h"
#include "tests/parity/cuda_subject.h"
#include "tests/parity/families.h"

namespace keepbox::test {
namespace {

/// A frame's plan, its candidates in order, and the indices kept as circles.
struct Circles {
  std::vector<TensorView> views;
  Plan plan;
  std::vector<Candidate> ordered, boxed;  // before and after suppression
  std::vector<uint32_t> kept;

  explicit Circles(const Input& input) {
    for (const Tensor& tensor : input.tensors) views.push_back(tensor.view());
    auto made = make_plan(input.settings, views);
    EXPECT_TRUE(made) << made.error().message();
    plan = std::move(*made);
    const HostKernels& reference = *find_backend("reference")->kernels;
    std::vector<Candidate> found(plan.rules.candidates);
    Funnel funnel;
    found.resize(reference.decode(plan, views, 0, {0, plan.layout.anchors}, found, funnel));
    ordered.resize(found.size());
    ordered.resize(reference.select(plan, found, {}, ordered));
    kept = by([](auto... args) { return reference::suppress<Circle>(args...); });
    boxed = after;
  }

  template <class Nms>
  std::vector<uint32_t> by(Nms nms) {
    after = ordered;
    std::vector<uint32_t> out(plan.rules.kept_capacity);
    struct alignas(64) Line {
      float numbers[16];
    };
    std::vector<Line> lanes(nms_lanes(plan) / 16 + 1);
    std::vector<uint64_t> words(nms_words(plan));
    const NmsScratch scratch{std::span(lanes[0].numbers, nms_lanes(plan)), words};
    out.resize(nms(plan, std::span<Candidate>(after), std::span<uint32_t>(out), scratch));
    return out;
  }

  std::vector<Detection> boxes() const {
    std::vector<Detection> out;
    for (const uint32_t i : kept)
      out.push_back(emitted(boxed[i], plan.letterbox, plan.rules, plan.tables()));
    std::erase_if(out, [](const Detection& each) { return is_empty(each.box); });
    return out;
  }

 private:
  std::vector<Candidate> after;  // of the last by()
};

/// Calls what(circles, name) for single-image frames of every family and some seeds.
template <class What>
void each_circles(What what) {
  for (const Family& family : families())
    for (unsigned seed = 0; seed < seeds; seed += 5 * family.share) {
      Random random(seed);
      const Input input = family.make(random);
      if (input.shift != 0) continue;
      Circles circles(input);
      if (circles.plan.layout.images == 1)
        what(circles, std::format("{} seed {}", family.name, seed));
    }
}

TEST(CirclesTest, DifferFromBoxes) {
  size_t differ = 0;
  each_circles([&](Circles& circles, const std::string&) {
    const HostKernels& reference = *find_backend("reference")->kernels;
    differ += circles.by(reference.nms) != circles.kept ? 1 : 0;
  });
  EXPECT_GT(differ, 50u) << "the geometry is not used";
}

TEST(CirclesTest, MatchOnVectors) {
#ifdef KEEPBOX_SIMD
  for (const std::string_view target : simd::targets()) {
    simd::force_target(target);
    each_circles([&](Circles& circles, const std::string& name) {
      const Rules& rules = circles.plan.rules;
      if (rules.method != NmsMethod::kGreedy || rules.limits_classes()) return;
      EXPECT_EQ(circles.by(simd::circles), circles.kept) << target << ' ' << name;
    });
  }
  simd::force_target("");
#else
  GTEST_SKIP() << "no vector backend";
#endif
}

class OnGpu : public testing::TestWithParam<const char*> {};

TEST_P(OnGpu, CirclesMatch) {
  if (cuda_subjects().empty()) GTEST_SKIP() << "no CUDA device";
  const Backend backend = circle_subject(GetParam());
  each_circles([&](const Circles& circles, const std::string& name) {
    const auto float32 = [](const TensorForm& form) { return form.type == DataType::kFloat32; };
    if (!std::ranges::all_of(circles.plan.forms, float32) || !backend.supports(circles.plan))
      return;
    auto processor = Processor::create(circles.plan, {&backend, ""}, MemorySpace::kCuda);
    ASSERT_TRUE(processor) << processor.error().message();
    const OnDevice on_device(circles.views);
    const Status status = processor->run(on_device.views());
    ASSERT_TRUE(status) << name << status.error().message();
    const auto same = [](const Detection& a, const Detection& b) {
      return a.anchor == b.anchor && a.class_id == b.class_id && a.score == b.score &&
             a.box == b.box;
    };
    EXPECT_TRUE(std::ranges::equal(processor->detections(), circles.boxes(), same)) << name;
  });
}

INSTANTIATE_TEST_SUITE_P(Each, OnGpu,
                         testing::Values("cuda", "cuda crowd", "cuda slow", "cuda masked"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace keepbox::test
