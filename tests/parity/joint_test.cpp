// SPDX-License-Identifier: LGPL-2.1-or-later
// Processors of a backend that decode several frames together: each has the boxes that it has
// alone.
#include "core/plan/plan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <format>
#include <span>
#include <utility>

#include "tests/parity/cuda_subject.h"
#include "tests/parity/ways.h"

namespace keepbox::test {
namespace {

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
