// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs the kernels of keypoints and masks box by box.
#include "core/run/host_payload.h"

#include <algorithm>

#include "core/formula/model_point.h"
#include "core/run/masks.h"

namespace keepbox {
namespace {

constexpr const char* kFewer = "lower max-detections";
constexpr const char* kCoarser = "set mask-size=prototypes, or lower max-detections";

/// Mean of keypoints, weighted like box corners by the scores of their boxes.
class PointMean {
 public:
  explicit PointMean(std::span<Keypoint> out) : out_(out) {
    std::ranges::fill(out_, Keypoint{0, 0, 0});
  }

  void add(std::span<const Keypoint> points, float score) {
    const float by = larger(score, 0.0f);
    for (size_t i = 0; i < out_.size(); ++i) {
      out_[i].x = out_[i].x + by * points[i].x;
      out_[i].y = out_[i].y + by * points[i].y;
      out_[i].score = out_[i].score + by * points[i].score;
    }
    weight_ = weight_ + by;
  }

  void finish() {
    for (Keypoint& each : out_) each = {each.x / weight_, each.y / weight_, each.score / weight_};
  }

 private:
  std::span<Keypoint> out_;
  float weight_ = 0;
};

}  // namespace

Result<HostPayload> HostPayload::create(const Plan& plan) {
  HostPayload out;
  const size_t each = plan.gather.points.count;
  KB_TRY(out.own_points_.grow(plan.rules.kept_capacity * each, kFewer));
  KB_TRY(out.one_.grow(each, kFewer));
  return out;
}

Status HostPayload::run(const HostKernels& kernels, const Plan& plan,
                        std::span<const TensorView> tensors, uint32_t image,
                        std::span<const Detection> detections, const Owners& owners) {
  if (plan.gather.points.count != 0)
    gather_points(kernels, plan, tensors, image, detections, owners);
  if (plan.gather.masks.coefficients != 0)
    return make_masks(kernels, plan, tensors, image, detections);
  return {};
}

void HostPayload::gather_points(const HostKernels& kernels, const Plan& plan,
                                std::span<const TensorView> tensors, uint32_t image,
                                std::span<const Detection> detections, const Owners& owners) {
  const size_t each = plan.gather.points.count;
  const std::span<Keypoint> all = own_points_.first(detections.size() * each);
  for (size_t i = 0; i < detections.size(); ++i) {
    const std::span<Keypoint> out = all.subspan(i * each, each);
    if (owners.owner.empty()) {
      kernels.points(plan, tensors, image, detections[i].anchor, out);
    } else {
      PointMean mean(out);
      for (size_t j = owners.kept[i]; j < owners.candidates.size(); ++j) {
        if (owners.owner[j] != owners.kept[i]) continue;
        const uint64_t key = owners.candidates[j].key;
        const std::span<Keypoint> one = one_.first(each);
        kernels.points(plan, tensors, image, anchor_in_key(plan.rules.contract, key_anchor(key)),
                       one);
        mean.add(one, key_score(key));
      }
      mean.finish();
    }
    for (Keypoint& point : out) point = on_frame(plan.letterbox, point, plan.gather.points.clipped);
  }
  points_ = all;
}

Status HostPayload::make_masks(const HostKernels& kernels, const Plan& plan,
                               std::span<const TensorView> tensors, uint32_t image,
                               std::span<const Detection> detections) {
  const MaskRules& rules = plan.gather.masks;
  const size_t each = rules.coefficients, pixels = place_masks(plan, detections, places_);
  KB_TRY(factors_.grow(detections.size() * each, kFewer));
  const std::span<float> factors = factors_.first(detections.size() * each);
  for (size_t i = 0; i < detections.size(); ++i)
    kernels.coefficients(plan, tensors, image, detections[i].anchor,
                         factors.subspan(i * each, each));
  masks_ = {};
  if (rules.enlarged) {
    KB_TRY(numbers_.grow(pixels, kCoarser));
    masks_.numbers = numbers_.data();
  } else {
    KB_TRY(inside_.grow(pixels, kFewer));
    masks_.inside = inside_.data();
  }
  kernels.masks(plan, tensors, image, factors, places_, masks_);
  return {};
}

}  // namespace keepbox
