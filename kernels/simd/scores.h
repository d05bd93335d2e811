// SPDX-License-Identifier: LGPL-2.1-or-later
// Where class scores stand, and what is found of a block of anchors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/coding.h"
#include "core/contract.h"
#include "core/element.h"

namespace keepbox::simd {

/// The scores of one image. Neighbours in memory are those of an anchor (rows), or those of a class
/// (planes).
struct Scores {
  const void* numbers;     // of anchor 0 and class 0
  const void* objectness;  // of anchor 0, in rows; nullptr: none
  DataType type;           // of both
  size_t stride;           // from row to row, or from plane to plane
  bool rows;
  uint32_t first_class, end_class;
  uint32_t all_classes;  // background included
  ScoreRules rules;
  float threshold;
  NmsContract contract;
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
  alignas(64) int32_t passing[kBlock + 64];  // CompressStore may write a whole vector
};

}  // namespace keepbox::simd
