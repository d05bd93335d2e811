// SPDX-License-Identifier: LGPL-2.1-or-later
// Reading tensors on the device: one image's numbers by field, as core/reference/decode.cpp does.
#pragma once

#include <cuda_fp16.h>

#include "kernels/cuda/device.h"

namespace keepbox::cuda {

inline constexpr uint32_t kWarp = 32;
inline constexpr uint32_t kFull = 0xffffffffu;

/// float32 that is aligned and not quantised.
struct PlainLoad {
  static __device__ uint32_t element_of(const DeviceField&) { return sizeof(float); }
  static __device__ float get(const DeviceField&, const std::byte* data, uint32_t index) {
    return __ldg(reinterpret_cast<const float*>(data) + index);
  }
};

/// float16 or bfloat16, aligned and not quantised.
struct HalfLoad {
  static __device__ uint32_t element_of(const DeviceField&) { return sizeof(uint16_t); }
  static __device__ float get(const DeviceField& field, const std::byte* data, uint32_t index) {
    const uint16_t bits = __ldg(reinterpret_cast<const uint16_t*>(data) + index);
    return field.type == DataType::kFloat16 ? __half2float(__ushort_as_half(bits))
                                            : bfloat16_to_float(bits);
  }
};

/// Anything else.
struct AnyLoad {
  static __device__ uint32_t element_of(const DeviceField& field) { return field.element; }
  static __device__ float get(const DeviceField& field, const std::byte* data, uint32_t index) {
    return (element(field.type, data + size_t{index} * field.element) - field.zero_point) *
           field.scale;
  }
  /// All types, out of the loops.
  static __device__ __noinline__ float element(DataType type, const std::byte* data) {
    return load_element(type, data);
  }
};

/// The channels of one anchor in a field.
template <class Load>
struct Channels {
  const DeviceField& field;
  const std::byte* data;  // of the first

  __device__ float operator[](uint32_t channel) const {
    return Load::get(field, data, channel * field.channel_stride);
  }
};

template <class Load>
struct Source {
  const DevicePlan& plan;
  uint32_t image;

  __device__ Channels<Load> at(const DeviceField& field, uint32_t anchor) const {
    return {field, field.data + image * field.image_stride +
                       size_t{anchor} * field.anchor_stride * Load::element_of(field)};
  }
  __device__ float get(const DeviceField& field, uint32_t anchor, uint32_t channel = 0) const {
    return at(field, anchor)[channel];
  }
  __device__ uint32_t anchors() const {
    return plan.count.present ? filled_rows(get(plan.count, 0), plan.anchors) : plan.anchors;
  }
};

/// The best class of an anchor; kMaxClasses when it has none: that passes no threshold.
struct Verdict {
  float score = -INFINITY;
  uint32_t class_id = kMaxClasses;
};

/// Is `a` the one that a pass over the classes in ascending order would have ended with?
__device__ inline bool better(const Verdict& a, const Verdict& b) {
  if (a.class_id == kMaxClasses || b.class_id == kMaxClasses) return a.class_id < b.class_id;
  return a.score > b.score || (a.score == b.score && a.class_id < b.class_id);
}

__device__ inline Verdict exchange(const Verdict& v, uint32_t lane_xor) {
  return {__shfl_xor_sync(kFull, v.score, lane_xor), __shfl_xor_sync(kFull, v.class_id, lane_xor)};
}

/// activate(), whose exponential is too much code to stand in every loop.
__device__ __noinline__ inline float activated_score(const DevicePlan& plan, float logit) {
  return activate(plan.score_rules, logit);
}

/// The best of the classes first, first + step, ... as the reference has it: NaN is never best.
template <class Load>
__device__ __noinline__ Verdict best_class_exactly(const Source<Load>& from, uint32_t anchor,
                                                   float objectness, uint32_t first,
                                                   uint32_t step) {
  const DevicePlan& plan = from.plan;
  const bool product = plan.score_rules.rule == ScoreRule::kProduct;
  Verdict best;
  for (uint32_t c = plan.rules.first_class + first; c < plan.rules.end_class; c += step) {
    const float raw = from.get(plan.rules.scores, anchor, c);
    const float value = product ? objectness * activated_score(plan, raw) : raw;
    if (best.class_id != kMaxClasses ? value > best.score : value == value) best = {value, c};
  }
  return best;
}

/// The same, quicker. @tparam kAhead loads on their way at a time.
template <uint32_t kAhead, class Load>
__device__ Verdict best_class(const Source<Load>& from, uint32_t anchor, float objectness,
                              uint32_t first, uint32_t step) {
  const DevicePlan& plan = from.plan;
  const bool product = plan.score_rules.rule == ScoreRule::kProduct;
  if (product && plan.score_rules.activation != Activation::kNone)
    return best_class_exactly(from, anchor, objectness, first, step);
  const float factor = product ? objectness : 1.0f;  // times 1 changes nothing
  const Channels<Load> scores = from.at(plan.rules.scores, anchor);
  Verdict best;
  for (uint32_t base = plan.rules.first_class + first; base < plan.rules.end_class; base += kAhead * step) {
    float values[kAhead];
    if (base + (kAhead - 1) * step < plan.rules.end_class) {
#pragma unroll
      for (uint32_t i = 0; i < kAhead; ++i) values[i] = factor * scores[base + i * step];
    } else {
#pragma unroll
      for (uint32_t i = 0; i < kAhead; ++i)
        values[i] = base + i * step < plan.rules.end_class ? factor * scores[base + i * step] : NAN;
    }
#pragma unroll
    for (uint32_t i = 0; i < kAhead; ++i) {
      const bool wins = values[i] > best.score;
      best.score = wins ? values[i] : best.score;
      best.class_id = wins ? base + i * step : best.class_id;
    }
  }
  // Nothing above minus infinity: rare, and for the full rules.
  if (best.class_id == kMaxClasses)
    return best_class_exactly(from, anchor, objectness, first, step);
  return best;
}

/// What is left to do to the best of all classes.
__device__ inline Verdict finish(const DevicePlan& plan, Verdict best, float objectness,
                                 float softmax) {
  const ScoreRules& rules = plan.score_rules;
  if (best.class_id == kMaxClasses || rules.rule == ScoreRule::kProduct) return best;
  best.score =
      rules.activation == Activation::kSoftmax ? softmax : activated_score(plan, best.score);
  if (rules.rule == ScoreRule::kArgmaxFirst) best.score = objectness * best.score;
  return best;
}

template <class Load>
__device__ float objectness_of(const Source<Load>& from, uint32_t anchor) {
  const DevicePlan& plan = from.plan;
  if (!plan.objectness.present) return 1.0f;
  const float raw = from.get(plan.objectness, anchor);
  return plan.score_rules.activation == Activation::kNone ? raw : activated_score(plan, raw);
}

__device__ inline bool is_object(const DevicePlan& plan, float objectness) {
  return !plan.objectness.present || passes(objectness, plan.rules.lowest_threshold, plan.rules.contract);
}

}  // namespace keepbox::cuda
