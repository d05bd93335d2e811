// SPDX-License-Identifier: LGPL-2.1-or-later
// Processors of a backend over several frames with changed settings and addresses: state kept
// between frames must not affect the boxes.
#include "core/run/processor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <format>
#include <utility>

#include "core/run/masks.h"
#include "tests/parity/candidates.h"
#include "tests/parity/cuda_subject.h"
#include "tests/parity/families.h"

namespace keepbox::test {
namespace {

/// A processor and the memory that it reads.
struct Way {
  std::string name;
  Backend backend;
  bool on_device;

  Result<Processor> processor(const Plan& plan) const {
    return Processor::create(plan, {&backend, ""},
                             on_device ? MemorySpace::kCuda : MemorySpace::kSystem);
  }
  Status run(Processor& processor, std::span<const TensorView> views) const {
    return on_device ? processor.run(OnDevice(views).views()) : processor.run(views);
  }
};

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

void expect_same(const Processor& a, const Processor& b, const std::string& where) {
  const auto same_points = [](const Keypoint& p, const Keypoint& q) {
    return std::bit_cast<std::array<uint32_t, 3>>(p) == std::bit_cast<std::array<uint32_t, 3>>(q);
  };
  const auto same_boxes = [](const Detection& p, const Detection& q) {
    return p.anchor == q.anchor && p.class_id == q.class_id && p.score == q.score &&
           p.box == q.box && p.angle == q.angle;
  };
  for (uint32_t image = 0; image < a.plan().frames(); ++image) {
    EXPECT_TRUE(std::ranges::equal(a.detections(image), b.detections(image), same_boxes)) << where;
    EXPECT_TRUE(std::ranges::equal(a.points(image), b.points(image), same_points)) << where;
    EXPECT_TRUE(std::ranges::equal(a.masks(image), b.masks(image), same_masks)) << where;
  }
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

/// Calls what(way, plan, views, settings, name) for every family and every way that supports it.
template <class What>
void each_way(What what) {
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

TEST(Processors, ApplyChangedSettings) {
  size_t changed = 0;
  each_way([&](const Way& way, const Plan& plan, const std::vector<TensorView>& views,
               const Settings& settings, const std::string& name) {
    Settings other = settings;
    other.default_score_threshold = false;
    other.score_threshold = 0.6f;
    other.exclude_classes = {0};
    other.include_classes = {};
    auto expected = reference_of(plan);
    auto processor = way.processor(plan);
    ASSERT_TRUE(processor) << processor.error().message();
    // Few boxes first, so that memory that grows with their number has to grow.
    for (const Settings& each : {other, settings, other, settings}) {
      const Status retuned = expected.retune(each);
      ASSERT_EQ(processor->retune(each).has_value(), retuned.has_value()) << name;
      if (!retuned) return;
      ASSERT_TRUE(expected.run(views) && way.run(*processor, views)) << name;
      expect_same(expected, *processor, name);
      changed += expected.detections().size();
    }
  });
  EXPECT_GT(changed, 100u) << "too few frames with boxes";
}

TEST(Processors, AcceptChangedAddresses) {
  each_way([&](const Way& way, const Plan& plan, const std::vector<TensorView>& views,
               const Settings&, const std::string& name) {
    auto expected = reference_of(plan);
    auto processor = way.processor(plan);
    ASSERT_TRUE(processor) << processor.error().message();
    const auto moved = [](Letterbox map) {
      map.scale_x *= 2;
      map.scale_y *= 2;
      map.pad_y += 8;
      return map;
    };
    std::vector<Tile> tiles = plan.tiles;
    for (Tile& each : tiles) each.letterbox = moved(each.letterbox);
    const std::pair<Letterbox, std::vector<Tile>> maps[] = {{plan.letterbox, plan.tiles},
                                                            {moved(plan.letterbox), tiles}};
    for (const auto& [letterbox, of_tiles] : maps) {
      expected.refit(letterbox, of_tiles, letterbox.frame);
      processor->refit(letterbox, of_tiles, letterbox.frame);
      ASSERT_TRUE(expected.run(views) && way.run(*processor, views)) << name;
      expect_same(expected, *processor, name);
    }
  });
}

TEST(Processors, RejectUnplannedTensors) {
  each_way([&](const Way& way, const Plan& plan, const std::vector<TensorView>& views,
               const Settings&, const std::string& name) {
    auto processor = way.processor(plan);
    ASSERT_TRUE(processor) << processor.error().message();
    EXPECT_FALSE(processor->run(std::span(views).first(views.size() - 1))) << name;
    if (!way.name.starts_with("cuda")) return;  // whose memory is made for planned tensors
    EXPECT_NE(processor->run(views).has_value(), way.on_device) << name << ": the host's memory";
    auto longer = views;
    longer[0].shape = {longer[0].shape.dims()[0] + 1, 1};
    EXPECT_FALSE(way.run(*processor, longer)) << name;
    EXPECT_TRUE(way.run(*processor, views)) << name << ": the planned tensors, afterwards";
  });
}

}  // namespace
}  // namespace keepbox::test
