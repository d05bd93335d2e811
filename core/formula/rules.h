// SPDX-License-Identifier: LGPL-2.1-or-later
// Parts of a plan that every backend reads: plain data, the same on every device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/formula/coding.h"
#include "core/formula/conventions.h"
#include "core/formula/filter.h"

namespace keepbox {

/// Fields of a layout.
enum class FieldId : uint8_t {
  kBox,         // four values per anchor, or four times the number of bins
  kObjectness,  // one
  kScores,      // one per class
  kScore,       // one, of end-to-end rows
  kClassId,     // one, of end-to-end rows
  kCount,       // one for all anchors: the number of valid ones
  // Fields that few families have:
  kSizes,    // the last two values of a box, if stored separately
  kImage,    // one, of ready rows: index of the image in the batch
  kIndices,  // three, of ready rows: image, class, anchor
  kAngle,    // one, radians, of oriented boxes
  // Fields of kept boxes:
  kPayload,     // keypoints or mask coefficients
  kPrototypes,  // one per mask coefficient, with pixels in place of anchors
};
inline constexpr size_t kFieldCount = static_cast<size_t>(FieldId::kPrototypes) + 1;
inline constexpr size_t kDecodedFields = static_cast<size_t>(FieldId::kAngle) + 1;
inline constexpr size_t kCommonFields = static_cast<size_t>(FieldId::kCount) + 1;

/// Values, thresholds and conventions of a plan. Anchors and limits are per image.
struct Rules {
  NmsContract contract;
  NmsMethod method = NmsMethod::kGreedy;
  bool uniform = false;      // one threshold for all classes, no class filter
  bool multi_label = false;  // one candidate per class of an anchor that passes
  bool oriented = false;     // boxes are oriented
  bool peaks = false;        // a score counts only if no neighbouring cell has a higher one
  uint32_t anchors = 0;      // or rows
  uint32_t indexed = 0;      // anchors that rows of indices refer to
  uint32_t candidates = 0;   // maximum that decoding can find
  uint32_t classes = 0;      // class scores per anchor, background included; 0 for ready rows
  uint32_t first_class = 0;  // first class score after the background
  uint32_t end_class = 0;
  uint32_t class_ids = 0;      // size of the tables by class
  float lowest_threshold = 0;  // minimum over all classes
  float iou_threshold = 0;     // 0 or a normal float
  float nms_sigma = 0;         // a normal float
  float reach = 0;             // of OrientedGaussian: distance from a box's centre, in standard
                               // deviations, beyond which boxes with that reach do not overlap
  uint32_t max_detections = 0;
  uint32_t class_limit = 0;          // maximum boxes kept per class
  uint32_t pre_nms_top_k = 0;        // candidates that reach suppression
  uint32_t pre_nms_class_top_k = 0;  // per class; 0: all
  uint32_t kept_capacity = 0;        // maximum boxes that suppression can keep
  ScoreRules scores;
  BoxRules boxes;
  RegionRules regions;

  /// True if the class limit is below the overall limit.
  KB_HD constexpr bool limits_classes() const { return class_limit < kept_capacity; }
  friend constexpr bool operator==(const Rules&, const Rules&) = default;
};

/// Tables of a plan, in memory of the device that reads them.
struct Tables {
  const float* class_threshold = nullptr;  // class_ids entries
  const uint8_t* class_wanted = nullptr;   // class_ids entries
  BoxTables boxes;
  const SizeLimits* size_limits = nullptr;  // class_ids entries; null: no limits
  const Region* regions = nullptr;          // as described by rules.regions; null: none
};

/// Returns the score threshold of a class. @pre class_id < rules.class_ids
KB_HD inline float threshold_of(const Rules& rules, const Tables& tables, uint32_t class_id) {
  return rules.uniform ? rules.lowest_threshold : tables.class_threshold[class_id];
}

}  // namespace keepbox
