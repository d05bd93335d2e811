// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of suppression methods: names for users, and the traits that plans and backends read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "core/formula/conventions.h"

namespace keepbox {

/// Scratch memory that a method needs on the host: NmsScratch::lanes and words.
enum class HostScratch : uint8_t {
  kNone,
  kGrid,   // lanes; words: a position per box, a grid per class, a start per cell
  kBits,   // a bit per box
  kWords,  // a word per box
};

/// Pairs of candidates that a method compares in the worst case.
enum class Pairs : uint8_t {
  kKept,  // each candidate with the kept ones
  kAll,
};

/// One method.
struct NmsTraits {
  NmsMethod method;
  std::string_view name, summary;  // as in nms-method= and gst-inspect-1.0
  bool exact = false;              // keeps the boxes of kGreedy
  bool by_threshold = true;        // overlaps up to the IoU threshold have no effect
  bool rescores = false;           // lowers scores
  bool moves_boxes = false;        // kept boxes become means
  bool merges_payload = false;     // payloads become means too: fills NmsScratch::owners
  Pairs pairs = Pairs::kKept;      // compared in the worst case
  // Limits by which the worst frame takes less than a second on one thread; 0: no limit.
  uint32_t max_pairs = 0;
  uint32_t max_oriented_pairs = 0;  // 0: an eighth of max_pairs
  HostScratch scratch = HostScratch::kNone;

  /// Returns the maximum for a geometry; 0: no limit.
  constexpr uint32_t pairs_of(bool oriented) const {
    if (!oriented) return max_pairs;
    return max_oriented_pairs != 0 ? max_oriented_pairs : max_pairs / 8;
  }
};

/// All methods, indexed by NmsMethod.
inline constexpr NmsTraits kNmsMethods[] = {
    {.method = NmsMethod::kAuto,
     .name = "auto",
     .summary = "The method of the contract: greedy for most, none for end-to-end models"},
    {.method = NmsMethod::kGreedy,
     .name = "greedy",
     .summary = "Exact greedy suppression: kept boxes suppress worse ones",
     .exact = true,
     .max_oriented_pairs = 1u << 24,
     .scratch = HostScratch::kGrid},
    {.method = NmsMethod::kNone,
     .name = "none",
     .summary = "Keep every box above the score threshold"},
    {.method = NmsMethod::kBitmask,
     .name = "bitmask",
     .summary = "Same boxes as greedy, computed with an IoU bit mask as in Faster R-CNN",
     .exact = true,
     .max_oriented_pairs = 1u << 24,
     .scratch = HostScratch::kGrid},
    {.method = NmsMethod::kSegmented,
     .name = "segmented",
     .summary = "Same boxes as greedy, computed by sorting by class, with one bit mask per class",
     .exact = true,
     .max_oriented_pairs = 1u << 24,
     .scratch = HostScratch::kGrid},
    {.method = NmsMethod::kFast,
     .name = "fast",
     .summary = "One pass, as in YOLACT: suppressed boxes suppress too, so fewer boxes are kept",
     .pairs = Pairs::kAll,
     .max_pairs = 1u << 27,
     .scratch = HostScratch::kGrid},
    {.method = NmsMethod::kSoftLinear,
     .name = "soft-linear",
     .summary = "Soft-NMS, linear: boxes that overlap a kept box beyond the IoU threshold have "
                "their scores multiplied by 1 - IoU",
     .rescores = true,
     .max_pairs = 1u << 26,
     .scratch = HostScratch::kBits},
    {.method = NmsMethod::kSoftGaussian,
     .name = "soft-gaussian",
     .summary =
         "Soft-NMS, Gaussian: scores of overlapping boxes are multiplied by e^(-IoU^2 / sigma)",
     .by_threshold = false,
     .rescores = true,
     .max_pairs = 1u << 26,
     .scratch = HostScratch::kBits},
    {.method = NmsMethod::kWeighted,
     .name = "weighted",
     .summary =
         "Score-weighted mean of a kept box and the boxes that it suppresses, as in MediaPipe",
     .moves_boxes = true,
     .merges_payload = true,
     .max_pairs = 1u << 26,
     .scratch = HostScratch::kBits},
    {.method = NmsMethod::kDiou,
     .name = "diou",
     .summary = "Greedy with DIoU: IoU minus the squared centre distance divided by the squared "
                "diagonal of the enclosing box",
     .max_pairs = 1u << 27},
    {.method = NmsMethod::kMatrix,
     .name = "matrix",
     .summary =
         "Matrix NMS of SOLOv2, Gaussian: lowers all scores in one pass; a box that better ones "
         "overlap lowers the others less",
     .by_threshold = false,
     .rescores = true,
     .pairs = Pairs::kAll,
     .max_pairs = 1u << 27,
     .max_oriented_pairs = 1u << 23,
     .scratch = HostScratch::kWords},
    {.method = NmsMethod::kMatrixLinear,
     .name = "matrix-linear",
     .summary = "Matrix NMS of SOLOv2, linear (1 - IoU)",
     .by_threshold = false,
     .rescores = true,
     .pairs = Pairs::kAll,
     .max_pairs = 1u << 27,
     .max_oriented_pairs = 1u << 23,
     .scratch = HostScratch::kWords},
    {.method = NmsMethod::kMerge,
     .name = "merge",
     .summary =
         "Greedy, then each box becomes the score-weighted mean of all it overlaps, as in YOLOv5",
     .moves_boxes = true,
     .max_pairs = 1u << 25},
};

/// Returns the row of a method.
constexpr const NmsTraits& traits_of(NmsMethod method) {
  return kNmsMethods[static_cast<size_t>(method)];
}

static_assert(
    [] {
      for (size_t i = 0; i < std::size(kNmsMethods); ++i)
        if (static_cast<size_t>(kNmsMethods[i].method) != i) return false;
      return std::size(kNmsMethods) == static_cast<size_t>(NmsMethod::kMerge) + 1;
    }(),
    "rows are in the order of NmsMethod");

}  // namespace keepbox
