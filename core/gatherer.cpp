// SPDX-License-Identifier: LGPL-2.1-or-later
// Gathers with a host backend's kernels, and finishes what a runner gathered.
#include "core/gatherer.h"

#include <algorithm>

#include "core/reference/reference.h"

namespace keepbox {
namespace {

/// The mean of points by the scores of the boxes that they are of, as of their corners.
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

Gatherer::Gatherer(const Plan& plan) {
  own_points_.reserve(size_t{plan.rules.kept_capacity} * plan.gather.points.count);
  one_.resize(plan.gather.points.count);
}

void Gatherer::run(const Plan& plan, const Backend& backend, std::span<const TensorView> tensors,
                   uint32_t image, std::span<const Detection> detections, const Owners& owners) {
  if (plan.gather.points.count != 0) gather_points(plan, tensors, image, detections, owners);
  if (plan.gather.masks.coefficients != 0)
    make_masks(plan, backend, tensors, image, detections);
}

void Gatherer::gather_points(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                             std::span<const Detection> detections, const Owners& owners) {
  const size_t each = plan.gather.points.count;
  own_points_.resize(detections.size() * each);
  for (size_t i = 0; i < detections.size(); ++i) {
    const std::span<Keypoint> out = std::span(own_points_).subspan(i * each, each);
    if (owners.owner.empty()) {
      reference::points(plan, tensors, image, detections[i].anchor, out);
    } else {
      PointMean mean(out);
      for (size_t j = owners.kept[i]; j < owners.candidates.size(); ++j) {
        if (owners.owner[j] != owners.kept[i]) continue;
        const uint64_t key = owners.candidates[j].key;
        reference::points(plan, tensors, image,
                          anchor_in_key(plan.rules.contract, key_anchor(key)), one_);
        mean.add(one_, key_score(key));
      }
      mean.finish();
    }
    for (Keypoint& point : out) point = on_frame(plan.letterbox, point);
  }
  points_ = own_points_;
}

void Gatherer::make_masks(const Plan& plan, const Backend& backend,
                          std::span<const TensorView> tensors, uint32_t image,
                          std::span<const Detection> detections) {
  const MaskRules& rules = plan.gather.masks;
  const size_t each = rules.coefficients, pixels = place_masks(plan, detections, places_);
  factors_.resize(detections.size() * each);
  for (size_t i = 0; i < detections.size(); ++i)
    reference::coefficients(plan, tensors, image, detections[i].anchor,
                            std::span(factors_).subspan(i * each, each));
  MaskRoom room;
  if (rules.enlarged) {
    numbers_.resize(std::max(pixels, numbers_.size()));
    room.numbers = numbers_.data();
  } else {
    inside_.resize(std::max(pixels, inside_.size()));
    room.inside = inside_.data();
  }
  backend.masks(plan, tensors, image, factors_, places_, room);
  finish_masks(plan, detections, places_, room, enlarged_, masks_);
}

void Gatherer::take(const Plan& plan, const Gathered& gathered,
                    std::span<const Detection> detections) {
  points_ = gathered.points;
  if (plan.gather.masks.coefficients != 0)
    finish_masks(plan, detections, gathered.places, gathered.masks, enlarged_, masks_);
}

}  // namespace keepbox
