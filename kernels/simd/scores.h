// SPDX-License-Identifier: LGPL-2.1-or-later
// Where class scores stand, and what is found of a block of anchors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/coding.h"
#include "core/contract.h"
#include "core/element.h"

namespace keepbox::simd {

/// Numbers of one tensor, `stride` from anchor to anchor.
struct Column {
  const void* numbers = nullptr;  // of the first anchor; nullptr: none
  DataType type = DataType::kFloat32;
  size_t stride = 0;
  float scale = 1, zero_point = 0;  // number = (stored - zero_point) * scale
};

/// The scores of one image's segment, whose anchors count from 0. Neighbours in memory are those of
/// an anchor (rows), or those of a class (planes).
struct Scores {
  Column classes;      // of class 0; in planes the stride is from plane to plane
  Column objectness;
  bool rows;
  uint32_t first_class, end_class;
  uint32_t all_classes;  // background included
  ScoreRules rules;
  float threshold;
  float least_logit;  // of objectness: what is below is below the threshold
  NmsContract contract;

  bool needs_object() const {
    return objectness.numbers != nullptr && rules.rule != ScoreRule::kGeometricMean;
  }
};

/// Anchors of a block: many, because each plane begins anew for each block, and so few that what is
/// known of them stays in the second cache.
inline constexpr size_t kBlock = 4096;

/// What is known of a block's anchors.
struct Block {
  alignas(64) float best[kBlock];  // score of the best class
  alignas(64) int32_t class_id[kBlock];
  alignas(64) int16_t best_bits[kBlock];  // while 16-bit numbers are compared as integers
  alignas(64) int16_t best_bits_class[kBlock];
  alignas(64) int8_t best_bytes[kBlock];  // the same of 8 bits, with or without a sign
  alignas(64) int8_t best_bytes_class[kBlock];
  alignas(64) float objectness[kBlock + 64];
  alignas(64) int32_t passing[kBlock + 64];  // CompressStore may write a whole vector
};

}  // namespace keepbox::simd
