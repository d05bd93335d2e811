// SPDX-License-Identifier: LGPL-2.1-or-later
// What every backend reads of a plan: plain data, the same on every device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/coding.h"
#include "core/contract.h"
#include "core/filter.h"

namespace keepbox {

/// What the numbers of a field are. A layout has a field for each.
enum class Part : uint8_t {
  kBox,         // four numbers an anchor, or four times as many as there are bins
  kObjectness,  // one
  kScores,      // one for each class
  kScore,       // one, of rows that the model sorted out
  kClassId,     // one, the same
  kCount,       // one for all anchors: how many of them count
  // Of few families:
  kSizes,       // the last two of a box's four, where they lie apart
  kImage,       // one, of ready rows: the image of a batch
  kIndices,     // three, the same: image, class, anchor
  kAngle,       // one, radians: boxes are turned
  // Of boxes that were kept:
  kPayload,     // points or mask coefficients
  kPrototypes,  // one for each mask coefficient, of pixels in place of anchors
};
inline constexpr size_t kParts = 12, kPartsDecoded = 10, kPartsOfMost = 6;

/// Numbers, thresholds and conventions of a plan. Anchors and limits are those of one image.
struct Rules {
  NmsContract contract;
  NmsMethod method = NmsMethod::kGreedy;
  bool uniform = false;           // one threshold for all classes, every class wanted
  bool multi_label = false;       // a candidate for each class of an anchor that passes
  bool turned = false;            // boxes have angles
  bool peaks = false;             // scores count where no cell around has a better one
  uint32_t anchors = 0;           // or rows
  uint32_t indexed = 0;           // anchors that rows with indices point to
  uint32_t candidates = 0;        // most that decoding can find
  uint32_t classes = 0;           // class scores an anchor, background included; 0 for ready rows
  uint32_t first_class = 0;       // first class score that is not background
  uint32_t end_class = 0;
  uint32_t class_ids = 0;         // that tables have
  float lowest_threshold = 0;     // the least of all classes'
  float iou_threshold = 0;        // 0 or a normal float
  float soft_sigma = 0;           // a normal float
  float reach = 0;                // of TurnedGaussian: deviations from a box's centre beyond which
                                  // it does not overlap what reaches as far
  uint32_t max_detections = 0;
  uint32_t class_limit = 0;       // most boxes that are kept of each class
  uint32_t pre_nms_top_k = 0;     // candidates that reach suppression
  uint32_t pre_nms_class_top_k = 0;  // of each class; 0: all
  uint32_t kept_capacity = 0;     // most boxes that suppression can keep
  ScoreRules scores;
  BoxRules boxes;
  RegionRules regions;

  /// Does the limit of a class ever end it before the limit of all?
  KB_HD constexpr bool limits_classes() const { return class_limit < kept_capacity; }
};

/// A plan's tables, in memory of whoever reads them.
struct Tables {
  const float* class_threshold = nullptr;  // class_ids of them
  const uint8_t* class_wanted = nullptr;   // the same
  BoxTables boxes;
  const SizeLimits* size_limits = nullptr;  // class_ids of them; null: every size will do
  const Region* regions = nullptr;         // as rules.regions says; null: there are none
};

/// The score threshold of a class. @pre class_id < rules.class_ids
KB_HD inline float threshold_of(const Rules& rules, const Tables& tables, uint32_t class_id) {
  return rules.uniform ? rules.lowest_threshold : tables.class_threshold[class_id];
}

}  // namespace keepbox
