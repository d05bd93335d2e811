// SPDX-License-Identifier: LGPL-2.1-or-later
// Reading tensors on the device: one image's numbers by field, as core/reference/decode.cpp does.
#pragma once

#include "kernels/cuda/device.h"

namespace keepbox::cuda {

inline constexpr uint32_t kWarp = 32;
inline constexpr uint32_t kFull = 0xffffffffu;

/// float32 that is aligned and not quantised.
struct PlainLoad {
  static __device__ float get(const DeviceField& field, size_t index) {
    return __ldg(reinterpret_cast<const float*>(field.data) + index);
  }
};

/// Anything else.
struct AnyLoad {
  static __device__ float get(const DeviceField& field, size_t index) {
    return (load_element(field.type, field.data + index * field.element) - field.zero_point) *
           field.scale;
  }
};

template <class Load>
struct Source {
  const DevicePlan& plan;
  uint32_t image;

  __device__ float get(const DeviceField& field, uint32_t anchor, uint32_t channel = 0) const {
    return Load::get(field, field.offset + image * field.image_stride +
                                anchor * field.anchor_stride + channel * field.channel_stride);
  }
  __device__ uint32_t anchors() const {
    return plan.count.present ? filled_rows(get(plan.count, 0), plan.anchors) : plan.anchors;
  }
};

/// The best class of an anchor; kMaxClasses when it has none.
struct Verdict {
  float score = 0;
  uint32_t class_id = kMaxClasses;
};

/// Passes no threshold.
__device__ inline Verdict nothing() { return {-INFINITY, kMaxClasses}; }

/// Is `a` the one that a pass over the classes in ascending order would have ended with?
__device__ inline bool better(const Verdict& a, const Verdict& b) {
  if (a.class_id == kMaxClasses || b.class_id == kMaxClasses) return a.class_id < b.class_id;
  return a.score > b.score || (a.score == b.score && a.class_id < b.class_id);
}

__device__ inline Verdict exchange(const Verdict& v, uint32_t lane_xor) {
  return {__shfl_xor_sync(kFull, v.score, lane_xor), __shfl_xor_sync(kFull, v.class_id, lane_xor)};
}

/// The best of the classes first, first + step, ...; NaN is never best.
template <class Load>
__device__ Verdict best_class(const Source<Load>& from, uint32_t anchor, float objectness,
                              uint32_t first, uint32_t step) {
  const DevicePlan& plan = from.plan;
  const bool product = plan.score_rules.rule == ScoreRule::kProduct;
  Verdict best;
#pragma unroll 8
  for (uint32_t c = plan.first_class + first; c < plan.end_class; c += step) {
    const float raw = from.get(plan.scores, anchor, c);
    const float value = product ? objectness * activate(plan.score_rules, raw) : raw;
    if (best.class_id != kMaxClasses ? value > best.score : value == value) best = {value, c};
  }
  return best;
}

/// What is left to do to the best of all classes.
__device__ inline Verdict finish(const DevicePlan& plan, Verdict best, float objectness,
                                 float softmax) {
  const ScoreRules& rules = plan.score_rules;
  if (best.class_id == kMaxClasses || rules.rule == ScoreRule::kProduct) return best;
  best.score = rules.activation == Activation::kSoftmax ? softmax : activate(rules, best.score);
  if (rules.rule == ScoreRule::kArgmaxFirst) best.score = objectness * best.score;
  return best;
}

template <class Load>
__device__ float objectness_of(const Source<Load>& from, uint32_t anchor) {
  const DevicePlan& plan = from.plan;
  if (!plan.objectness.present) return 1.0f;
  return activate(plan.score_rules, from.get(plan.objectness, anchor));
}

__device__ inline bool is_object(const DevicePlan& plan, float objectness) {
  return !plan.objectness.present || passes(objectness, plan.lowest_threshold, plan.contract);
}

}  // namespace keepbox::cuda
