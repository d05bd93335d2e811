// SPDX-License-Identifier: LGPL-2.1-or-later
// Location of class scores, and the results for a block of anchors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/formula/coding.h"
#include "core/formula/conventions.h"
#include "core/formula/numeric.h"

namespace keepbox::simd {

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

}  // namespace keepbox::simd
