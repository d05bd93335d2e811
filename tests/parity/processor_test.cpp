// SPDX-License-Identifier: LGPL-2.1-or-later
// Processors of a backend over several frames with changed settings and addresses: state kept
// between frames must not affect the boxes.
#include "core/run/processor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <format>
#include <utility>

#include "core/plan/joint.h"
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

/// Expects the boxes of one frame of `a` and another one of `b` to be the same.
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

constexpr uint32_t kFrames = 4;

/// Tensors of several frames: those of each number are adjacent, as in the output of a batch.
class FrameTensors {
 public:
  explicit FrameTensors(const std::vector<TensorView>& like) : like_(like) {
    for (const TensorView& each : like) {
      const auto* from = static_cast<const std::byte*>(each.data);
      std::vector<std::byte>& to = memory_.emplace_back();
      for (uint32_t frame = 0; frame < kFrames; ++frame)
        to.insert(to.end(), from, from + bytes_of(each));
      for (uint32_t frame = 1; frame < kFrames && each.type == DataType::kFloat32; ++frame)
        change(std::span(to).subspan(frame * bytes_of(each), bytes_of(each)), frame);
    }
  }

  std::vector<TensorView> of(uint32_t frame) const { return of(all(), frame, 1); }

  /// Runs frames from the first one on, one after the other in memory.
  Status run(const Way& way, Processor& processor, uint32_t first, uint32_t count) const {
    const auto views = all();
    if (!way.on_device) return processor.run(of(views, first, count));
    const OnDevice there(views);
    return processor.run(of(there.views(), first, count));
  }

 private:
  static size_t bytes_of(const TensorView& view) {
    return *view.shape.count() * size_of(view.type);
  }

  static void change(std::span<std::byte> values, uint32_t frame) {
    for (; !values.empty(); values = values.subspan(sizeof(float))) {
      float value;
      std::memcpy(&value, values.data(), sizeof value);
      value *= 1 - 0.04f * static_cast<float>(frame);
      std::memcpy(values.data(), &value, sizeof value);
    }
  }

  std::vector<TensorView> all() const {
    std::vector<TensorView> out = like_;
    for (size_t i = 0; i < out.size(); ++i)
      out[i].data = memory_[i].data(), out[i].bytes = memory_[i].size();
    return out;
  }

  std::vector<TensorView> of(std::span<const TensorView> views, uint32_t first,
                             uint32_t count) const {
    std::vector<TensorView> out;
    for (uint32_t frame = first; frame < first + count; ++frame)
      for (TensorView view : views) {
        const size_t each = bytes_of(view);
        view.data = static_cast<const std::byte*>(view.data) + frame * each;
        view.bytes = each;
        out.push_back(view);
      }
    return out;
  }

  std::vector<TensorView> like_;
  std::vector<std::vector<std::byte>> memory_;  // by tensor
};

/// Maps to frames of different sizes.
std::vector<Letterbox> different_maps(const Letterbox& like) {
  std::vector<Letterbox> out;
  for (uint32_t frame = 0; frame < kFrames; ++frame) {
    Letterbox& map = out.emplace_back(like);
    const auto by = static_cast<float>(frame + 1);
    map.frame = {like.frame.width * (frame + 1), like.frame.height + 100 * frame};
    map.scale_x *= by;
    map.scale_y *= 1 + 0.2f * by;
    map.pad_x -= 3 * by;
    map.pad_y += by;
  }
  return out;
}

/// Frames of a plan that are decoded one by one by the reference, and together.
class Together {
 public:
  Together(const Way& way, const Plan& plan, const std::vector<TensorView>& views)
      : way_(way),
        tensors_(views),
        maps_(different_maps(plan.letterbox)),
        joint_(way.processor(joint_plan(plan, kFrames))),
        alone_(reference_of(plan)) {}

  const Result<Processor>& processor() const { return joint_; }

  /// Expects a run of some frames to have the boxes that each has alone. @return their number.
  size_t compare(uint32_t first, uint32_t count, const std::string& name) {
    joint_->set_maps(std::span(maps_).subspan(first, count));
    const Status ran = tensors_.run(way_, *joint_, first, count);
    EXPECT_TRUE(ran) << name;
    size_t boxes = 0;
    for (uint32_t i = 0; ran && i < count; ++i) {
      const Letterbox& map = maps_[first + i];
      alone_.refit(map, {}, map.frame);
      EXPECT_TRUE(alone_.run(tensors_.of(first + i))) << name;
      expect_same(alone_, 0, *joint_, i, std::format("{}, frame {} of {}", name, i, count));
      EXPECT_EQ(std::memcmp(&alone_.funnel(), &joint_->funnel(i), sizeof(Funnel)), 0) << name;
      boxes += alone_.detections().size();
    }
    return boxes;
  }

  bool retune(const Settings& settings) {
    return alone_.retune(settings) && joint_->retune_joint(alone_.plan());
  }

 private:
  const Way& way_;
  FrameTensors tensors_;
  std::vector<Letterbox> maps_;
  Result<Processor> joint_;
  Processor alone_;
};

TEST(Processors, DecodeFramesTogetherAsAlone) {
  size_t boxes = 0, families = 0;
  each_way([&](const Way& way, const Plan& plan, const std::vector<TensorView>& views,
               const Settings& settings, const std::string& name) {
    if (!can_join(plan)) return;
    Together frames(way, plan, views);
    ASSERT_TRUE(frames.processor()) << frames.processor().error().message();
    ++families;
    // Fewer frames at times, and others in their places.
    for (const auto& [first, count] : {std::pair{0u, 4u}, {1u, 2u}, {2u, 1u}, {0u, 4u}, {1u, 3u}})
      boxes += frames.compare(first, count, name);
    Settings other = settings;
    other.default_score_threshold = false;
    other.score_threshold = 0.6f;
    if (frames.retune(other)) frames.compare(0, kFrames, name + ", retuned");
  });
  EXPECT_GT(boxes, 1000u);
  EXPECT_GT(families, 50u);
}

/// Memory of CUDA is read by strides.
TEST(Processors, RejectFramesThatAreNotAdjacent) {
  if (cuda_subjects().empty()) GTEST_SKIP() << "no CUDA device";
  each_way([&](const Way& way, const Plan& plan, const std::vector<TensorView>& views,
               const Settings&, const std::string& name) {
    if (!can_join(plan) || !way.on_device || views[0].bytes == 0) return;
    auto joint = way.processor(joint_plan(plan, 2));
    ASSERT_TRUE(joint) << joint.error().message();
    const OnDevice first(views), second(views);
    std::vector<TensorView> both;
    for (const OnDevice* each : {&first, &second})
      both.insert(both.end(), each->views().begin(), each->views().end());
    EXPECT_FALSE(joint->run(both)) << name;
  });
}

}  // namespace
}  // namespace keepbox::test
