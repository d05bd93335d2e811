// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of boxdecode, and their enums.
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "gst/base/props.h"

namespace keepbox {

// The properties of boxdecode.

/// Property values as set. Plain data: copied under the object lock.
struct DecodeProps {
  std::string detector = Settings{}.detector;
  std::string tensor_ids;
  std::string quantization;
  gfloat score_threshold = Settings{}.score_threshold;
  gfloat iou_threshold = Settings{}.iou_threshold;
  gfloat track_score_threshold = 0;  // 0: none
  bool score_threshold_set = false, iou_threshold_set = false;
  int multi_label = 0;
  guint max_detections = Settings{}.max_detections;
  guint class_top_k = Settings{}.class_top_k;
  guint pre_nms_top_k = Settings{}.pre_nms_top_k;
  guint pre_nms_class_top_k = Settings{}.pre_nms_class_top_k;
  bool class_agnostic = false;
  int nms_contract = 0;
  int nms_method = 0;
  gfloat soft_nms_sigma = Settings{}.soft_sigma;
  guint num_classes = 0;
  std::string label_file;
  std::string priors_file;
  std::string include_classes;
  std::string exclude_classes;
  std::string class_thresholds;
  std::string min_size, max_size;
  std::string regions, exclude_regions;
  int region_rule = 0;
  int box_units = 0;
  int resize_mode = 0;
  guint model_width = 0, model_height = 0;
  guint source_width = 0, source_height = 0;
  int backend = 0;
  guint threads = 1;
  int cuda_device_id = -1;
  int on_mismatch = 0;
  bool roi_meta = false;
  bool class_meta = false;
  bool keypoints = true;
  bool masks = true;
  int mask_size = 0;
  int tile_merge = static_cast<int>(TileRules{}.merge);
  gfloat tile_threshold = TileRules{}.threshold;
  gfloat tile_border = TileRules{}.border;
  bool tile_union = false;
  std::string model_name;

  bool operator==(const DecodeProps&) const = default;
};

/// True if they differ only in properties whose changes need no new plan.
bool only_tuned(const DecodeProps& a, const DecodeProps& b);

const PropertyTable<DecodeProps>& decode_properties();

/// Splits "a, b" into its words.
std::vector<std::string> ids_of(const std::string& text);

// GEnum types of boxdecode's properties.

enum class OnMismatch { kError, kWarn, kPass };

enum MaskSize { kMaskSizePrototypes, kMaskSizeFrame };
enum MultiLabel { kMultiLabelAuto, kMultiLabelTrue, kMultiLabelFalse };

GType contract_type();     // 0: auto, otherwise 1 + index into contracts()
GType backend_type();      // 0: auto, otherwise 1 + index into backends()
GType nms_method_type();   // NmsMethod
GType multi_label_type();  // MultiLabel
GType mask_size_type();    // MaskSize
GType tile_merge_type();   // TileMerge
GType units_type();        // Units
GType region_rule_type();  // RegionRule
GType on_mismatch_type();  // OnMismatch

}  // namespace keepbox
