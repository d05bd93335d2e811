// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs the kernels of payloads box by box.
#include "core/run/host_payload.h"

#include <algorithm>

#include "core/formula/model_point.h"

namespace keepbox {
namespace {

constexpr const char* kFewerDetections = "lower max-detections";
constexpr const char* kCoarser = "set mask-size=prototypes, or lower max-detections";

/// Mean of values, weighted like box corners by the scores of their boxes.
class ValueMean {
 public:
  explicit ValueMean(std::span<float> out) : out_(out) { std::ranges::fill(out_, 0.0f); }

  void add(std::span<const float> values, float score) {
    const float by = larger(score, 0.0f);
    for (size_t i = 0; i < out_.size(); ++i) out_[i] = out_[i] + by * values[i];
    weight_ = weight_ + by;
  }

  void finish() {
    for (float& each : out_) each = each / weight_;
  }

 private:
  std::span<float> out_;
  float weight_ = 0;
};

/// Maps keypoints to the frame.
void move_keypoints(const Plan& plan, uint32_t image, std::span<float> values) {
  const Letterbox& letterbox = plan.letterbox_of(image);
  for (size_t i = 0; i < values.size(); i += kPointValues) {
    const Keypoint point = on_frame(letterbox, {values[i], values[i + 1], values[i + 2]},
                                    plan.payload.keypoints.clipped);
    values[i] = point.x, values[i + 1] = point.y, values[i + 2] = point.score;
  }
}

}  // namespace

Result<HostPayload> HostPayload::create(const Plan& plan) {
  HostPayload out;
  const size_t each = plan.payload.count;
  if (!plan.payload.has(Moves::kAsMask))
    KB_TRY(out.own_values_.grow(plan.rules.kept_capacity * each, kFewerDetections));
  if (plan.payload.mean) KB_TRY(out.value_scratch_.grow(each, kFewerDetections));
  return out;
}

Status HostPayload::run(const HostKernels& kernels, const Plan& plan,
                        std::span<const TensorView> tensors, uint32_t image,
                        std::span<const Detection> detections, const Owners& owners) {
  values_ = {};
  places_.clear();
  const size_t each = plan.payload.count;
  KB_TRY(own_values_.grow(detections.size() * each, kFewerDetections));
  const std::span<float> values = own_values_.first(detections.size() * each);
  const Frame frame{kernels, plan, tensors, image};
  for (size_t i = 0; i < detections.size(); ++i) {
    const std::span<float> out = values.subspan(i * each, each);
    if (plan.payload.mean) read_mean(frame, owners, owners.kept[i], out);
    else kernels.payload(plan, tensors, image, detections[i].anchor, out);
  }
  if (plan.payload.has(Moves::kAsPoints)) move_keypoints(plan, image, values);
  values_ = values;
  return plan.payload.has(Moves::kAsMask) ? make_masks(frame, detections) : Status{};
}

/// @param kept index of the candidate.
void HostPayload::read_mean(const Frame& frame, const Owners& owners, uint32_t kept,
                            std::span<float> out) {
  ValueMean mean(out);
  const std::span<float> one = value_scratch_.first(out.size());
  for (size_t j = kept; j < owners.candidates.size(); ++j) {
    if (owners.owner[j] != kept) continue;
    const uint64_t key = owners.candidates[j].key;
    const uint32_t anchor = anchor_in_key(frame.plan.rules.contract, key_anchor(key));
    frame.kernels.payload(frame.plan, frame.tensors, frame.image, anchor, one);
    mean.add(one, key_score(key));
  }
  mean.finish();
}

Status HostPayload::make_masks(const Frame& frame, std::span<const Detection> detections) {
  place_masks(frame.plan, frame.image, detections, places_);
  KB_TRY(bits_.grow(places_.words, kCoarser));
  words_ = bits_.data();
  const bool enlarged = frame.plan.payload.masks.enlarged;
  if (enlarged) KB_TRY(sums_.grow(places_.sum_count, kCoarser));
  frame.kernels.masks(frame.plan, frame.tensors, frame.image, values_,
                      enlarged ? places_.sums : places_.bits,
                      enlarged ? MaskOutput{.sums = sums_.data()} : MaskOutput{bits_.data()});
  if (enlarged) frame.kernels.enlarge(frame.plan, frame.image, places_, sums_.data(), bits_.data());
  return {};
}

}  // namespace keepbox
