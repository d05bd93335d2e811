// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads tensors on the device: values of one image by field, like core/reference/decode.cpp.
#pragma once

#include <cuda_fp16.h>

#include <type_traits>

#include "core/formula/score.h"
#include "kernels/cuda/device/launches.h"
#include "kernels/cuda/device/warp.cuh"

namespace keepbox::cuda {

/// Loads aligned, unquantised float32.
struct FloatLoad {
  static constexpr bool kSegments = false;
  static __device__ uint32_t element_of(const DeviceField&) { return sizeof(float); }
  static __device__ float get(const DeviceField&, const std::byte* data, uint32_t index) {
    return __ldg(reinterpret_cast<const float*>(data) + index);
  }
};

/// Loads aligned, unquantised float16 or bfloat16.
struct HalfLoad {
  static constexpr bool kSegments = false;
  static __device__ uint32_t element_of(const DeviceField&) { return sizeof(uint16_t); }
  static __device__ float get(const DeviceField& field, const std::byte* data, uint32_t index) {
    const uint16_t bits = __ldg(reinterpret_cast<const uint16_t*>(data) + index);
    return field.type == DataType::kFloat16 ? __half2float(__ushort_as_half(bits))
                                            : bfloat16_to_float(bits);
  }
};

/// Loads quantised int8 or uint8.
struct ByteLoad {
  static constexpr bool kSegments = false;
  static __device__ uint32_t element_of(const DeviceField&) { return 1; }
  static __device__ float get(const DeviceField& field, const std::byte* data, uint32_t index) {
    const uint8_t bits = __ldg(reinterpret_cast<const uint8_t*>(data) + index);
    const int number = field.type == DataType::kInt8 ? static_cast<int8_t>(bits) : bits;
    return (static_cast<float>(number) - field.zero_point) * field.scale;
  }
};

/// Loads any other type.
struct AnyLoad {
  static constexpr bool kSegments = false;
  static __device__ uint32_t element_of(const DeviceField& field) { return field.element; }
  static __device__ float get(const DeviceField& field, const std::byte* data, uint32_t index) {
    return (element(field.type, data + size_t{index} * field.element) - field.zero_point) *
           field.scale;
  }
  /// Converts all types; not inlined into loops.
  static __device__ __noinline__ float element(DataType type, const std::byte* data) {
    return load_element(type, data);
  }
};

/// Reads values of segments, with all rules.
template <class Load>
struct InSegments : Load {
  static constexpr bool kSegments = true;
};

/// Placeholder for segments in the kernels of most families.
struct NoSegments {};
template <class Load>
using SegmentsOf = std::conditional_t<Load::kSegments, SegmentTable, NoSegments>;

/// Channels of one anchor in a field.
template <class Load>
struct Channels {
  const DeviceField& field;
  const std::byte* data;  // of the first

  __device__ float operator[](uint32_t channel) const {
    return Load::get(field, data, channel * field.channel_stride);
  }
};

/// Values of one image, for the templates of core/formula/score.h.
template <class Load>
struct FieldReader {
  const DevicePlan& plan;
  const Rules& rules;
  const Tables& tables;
  uint32_t image;
  const DeviceField* fields;
  uint32_t first = 0;  // first anchor of the segment with these fields

  __device__ FieldReader(const DevicePlan& of, uint32_t index)
      : plan(of), rules(of.rules), tables(of.tables), image(index), fields(of.fields) {}
  __device__ FieldReader(const DevicePlan& of, uint32_t index, const DeviceSegment& segment)
      : plan(of),
        rules(of.rules),
        tables(of.tables),
        image(index),
        fields(segment.fields),
        first(segment.first) {}

  __device__ const DeviceField& field(FieldId id) const {
    if constexpr (Load::kSegments) return fields[static_cast<uint32_t>(id)];
    else return plan.fields[static_cast<uint32_t>(id)];
  }
  __device__ bool has(FieldId id) const {
    const bool seldom = static_cast<size_t>(id) >= kCommonFields;
    return (Load::kSegments || !seldom) && field(id).data != nullptr;
  }
  __device__ Channels<Load> at(FieldId id, uint32_t anchor) const {
    const DeviceField& from = field(id);
    return {from, from.data + image * from.image_stride +
                      size_t{anchor - (Load::kSegments ? first : 0)} * from.anchor_stride *
                          Load::element_of(from)};
  }
  __device__ float get(FieldId id, uint32_t anchor, uint32_t channel = 0) const {
    return at(id, anchor)[channel];
  }
};

/// True if a pass over the classes in ascending order would end with `a`.
__device__ inline bool better(const ScoredClass& a, const ScoredClass& b) {
  if (a.class_id == kMaxClasses || b.class_id == kMaxClasses) return a.class_id < b.class_id;
  return a.score > b.score || (a.score == b.score && a.class_id < b.class_id);
}

__device__ inline ScoredClass exchange(const ScoredClass& v, uint32_t lane_xor) {
  return {__shfl_xor_sync(kFull, v.score, lane_xor), __shfl_xor_sync(kFull, v.class_id, lane_xor)};
}

/// Implements best_class(), faster. @tparam kAhead number of loads in flight.
template <uint32_t kAhead, class Load>
__device__ ScoredClass quick_best_class(const FieldReader<Load>& from, uint32_t anchor,
                                        float objectness, uint32_t first, uint32_t step) {
  const Rules& rules = from.rules;
  if (rules.scores.rule == ScoreRule::kObjectness)
    return first == 0 ? ScoredClass{0, rules.first_class} : ScoredClass{};
  const bool product = rules.scores.rule == ScoreRule::kProduct;
  const bool activated = product && rules.scores.activation != Activation::kNone;
  if (!Load::kSegments && activated) return best_class(from, anchor, objectness, first, step);
  const float factor = product && !activated ? objectness : 1.0f;  // 1 changes nothing
  const Channels<Load> scores = from.at(FieldId::kScores, anchor);
  ScoredClass best;
  for (uint32_t base = rules.first_class + first; base < rules.end_class; base += kAhead * step) {
    float values[kAhead];
    if (base + (kAhead - 1) * step < rules.end_class) {
#pragma unroll
      for (uint32_t i = 0; i < kAhead; ++i) values[i] = factor * scores[base + i * step];
    } else {
#pragma unroll
      for (uint32_t i = 0; i < kAhead; ++i)
        values[i] = base + i * step < rules.end_class ? factor * scores[base + i * step] : NAN;
    }
#pragma unroll
    for (uint32_t i = 0; i < kAhead; ++i) {
      if (Load::kSegments && activated) values[i] = objectness * activate(rules.scores, values[i]);
      const bool wins = values[i] > best.score;
      best.score = wins ? values[i] : best.score;
      best.class_id = wins ? base + i * step : best.class_id;
    }
  }
  // No score above minus infinity: rare, handled by the general code.
  if (best.class_id == kMaxClasses) return best_class(from, anchor, objectness, first, step);
  return best;
}

}  // namespace keepbox::cuda
