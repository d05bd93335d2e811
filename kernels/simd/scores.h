// SPDX-License-Identifier: LGPL-2.1-or-later
// Scores in blocks of anchors, read from any layout.
#pragma once

#include <hwy/cache_control.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/formula/coding.h"
#include "core/formula/conventions.h"
#include "core/formula/numeric.h"
#include "core/run/host_runner.h"

namespace keepbox::simd {

// Location of class scores, and the results for a block of anchors.

/// Values of one tensor, `stride` apart from anchor to anchor.
struct Column {
  const void* data = nullptr;  // of the first anchor; nullptr: none
  DataType type = DataType::kFloat32;
  size_t stride = 0;
  float scale = 1, zero_point = 0;  // value = (stored - zero_point) * scale
};

/// Scores of one image's segment, whose anchors count from 0. Adjacent in memory are the scores of
/// an anchor (rows) or of a class (planes).
struct Scores {
  Column classes;  // of class 0; in planes the stride is between planes
  Column objectness;
  bool rows;
  uint32_t first_class, end_class;
  uint32_t all_classes;  // background included
  ScoreRules rules;
  float threshold;
  float min_logit;  // of objectness: lower logits are below the threshold
  NmsContract contract;

  bool needs_object() const {
    return objectness.data != nullptr && rules.rule != ScoreRule::kGeometricMean;
  }
};

/// Anchors per block: many, because each block starts over in every plane, but few enough for the
/// block's results to stay in the L2 cache.
inline constexpr size_t kBlock = 4096;

/// Results for a block's anchors.
struct Block {
  alignas(64) float best[kBlock];  // score of the best class
  alignas(64) int32_t class_id[kBlock];
  alignas(64) int16_t best_bits[kBlock];  // while 16-bit values are compared as integers
  alignas(64) int16_t best_bits_class[kBlock];
  alignas(64) int8_t best_bytes[kBlock];  // while 8-bit values are compared, signed or unsigned
  alignas(64) int8_t best_bytes_class[kBlock];
  alignas(64) float objectness[kBlock + 64];
  alignas(64) int32_t passing[kBlock + 64];  // CompressStore may write a whole vector
};

/// Lists the anchors that may pass among `count` from `first`, at most kBlock, with their best
/// class: for planes or rows without objectness, or for either with it. @return their number
size_t score_planes(const Scores& scores, size_t first, size_t count, Block& block);
size_t score_rows(const Scores& scores, size_t first, size_t count, Block& block);
size_t score_weighted(const Scores& scores, size_t first, size_t count, Block& block);

/// Takes scores of a class by the positions of their anchors in a block.
using TakeScores = void (*)(void* context, uint32_t class_id, std::span<const int32_t> at);
/// Takes all class scores of `count` anchors from `first` that are at least `min_value` before
/// activation, for planes of float32 without objectness.
void take_all_classes(const Scores& scores, size_t first, size_t count, float min_value,
                      TakeScores take, void* context);

// Reads the values of one image in place, for the templates of core/formula/score.h.

/// True for aligned, unquantised float32, float16 or bfloat16; load() reads all others.
inline bool plain(const TensorView& view) {
  const bool known = view.type == DataType::kFloat32 || view.type == DataType::kFloat16 ||
                     view.type == DataType::kBFloat16;
  return known && view.scale == 1 && view.zero_point == 0 &&
         reinterpret_cast<uintptr_t>(view.data) % size_of(view.type) == 0;
}

/// True for aligned integers of 8 or 16 bits whose order is that of their values.
inline bool is_integer(const TensorView& view) {
  constexpr float kMinScale = 1e-20f, kMaxZero = 65536;  // beyond, values may coincide
  const bool known = view.type == DataType::kInt8 || view.type == DataType::kUInt8 ||
                     view.type == DataType::kInt16;
  return known && view.scale > kMinScale && view.zero_point <= kMaxZero &&
         view.zero_point >= -kMaxZero &&
         reinterpret_cast<uintptr_t>(view.data) % size_of(view.type) == 0;
}

class FieldReader {
 public:
  const Rules& rules;
  const Tables tables;
  const uint32_t image;

  FieldReader(const Plan& plan, const Segment& segment, std::span<const TensorView> tensors,
              uint32_t number)
      : rules(plan.rules), tables(plan.tables()), image(number), segment_(segment) {
    for (size_t id = 0; id < kDecodedFields; ++id) {
      const Field& field = segment.fields[id];
      if (!field.present()) continue;
      const TensorView& view = tensors[static_cast<size_t>(field.tensor)];
      views_[id] = {&view,
                    plain(view),
                    size_of(view.type),
                    field.at(image, 0),
                    field.anchor_stride,
                    field.channel_stride};
    }
  }

  const Segment& segment() const { return segment_; }

  bool has(FieldId id) const { return field_view(id).view != nullptr; }

  float get(FieldId id, uint32_t anchor, uint32_t channel = 0) const {
    const FieldView& from = field_view(id);
    const size_t at =
        from.first + (anchor - segment_.first) * from.anchor_stride + channel * from.channel_stride;
    if (!from.plain) return load(*from.view, at);
    const void* data = from.view->data;
    switch (from.view->type) {
      case DataType::kFloat16: return half_to_float(static_cast<const uint16_t*>(data)[at]);
      case DataType::kBFloat16: return bfloat16_to_float(static_cast<const uint16_t*>(data)[at]);
      default: return static_cast<const float*>(data)[at];
    }
  }

  /// Prefetches a box: in planes each of its values is in a different cache line.
  void prefetch_box(uint32_t anchor) const {
    const FieldView& from = field_view(FieldId::kBox);
    const auto* box = static_cast<const std::byte*>(from.view->data) +
                      (from.first + (anchor - segment_.first) * from.anchor_stride) * from.size;
    hwy::Prefetch(box);
    if (from.channel_stride == 1) return;
    for (size_t i = 1; i < 4 * size_t{rules.boxes.bins}; ++i)
      hwy::Prefetch(box + i * from.channel_stride * from.size);
  }

 private:
  struct FieldView {
    const TensorView* view = nullptr;
    bool plain = false;
    size_t size = 0;                                          // bytes per value
    size_t first = 0, anchor_stride = 0, channel_stride = 0;  // in values
  };

  const FieldView& field_view(FieldId id) const { return views_[static_cast<size_t>(id)]; }

  const Segment& segment_;
  std::array<FieldView, kDecodedFields> views_;
};

static_assert(AnchorReader<FieldReader>);

}  // namespace keepbox::simd
