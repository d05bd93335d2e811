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

enum class OnMismatch { kError, kWarn, kPass };

enum MaskSize { kMaskSizeNone, kMaskSizePrototypes, kMaskSizeFrame };
enum MultiLabel { kMultiLabelAuto, kMultiLabelTrue, kMultiLabelFalse };
enum AlsoAttach : guint { kAttachRoi = 1, kAttachClass = 2 };

/// Property values as set. Plain data: copied under the object lock.
struct DecodeProps {
  std::string detector = Settings{}.detector;
  gfloat score_threshold = Settings{}.score_threshold;
  bool default_score_threshold = true;  // unset
  gfloat iou_threshold = Settings{}.iou_threshold;
  bool default_iou_threshold = true;  // unset
  std::string label_file;
  std::string include_classes;
  std::string class_thresholds;
  guint max_detections = Settings{}.max_detections;
  std::string min_size, max_size;
  std::string regions;
  int mask_size = kMaskSizePrototypes;
  bool class_agnostic = false;
  int multi_label = kMultiLabelAuto;
  int nms_contract = 0;
  int nms_method = 0;
  gfloat track_score_threshold = 0;  // 0: none
  std::string model_name;
  guint also_attach = 0;  // AlsoAttach
  int on_mismatch = 0;
  int tile_merge = static_cast<int>(TileRules{}.merge);
  gfloat tile_threshold = TileRules{}.threshold;
  gfloat tile_border = TileRules{}.border;
  int resize_mode = 0;
  std::string model_size;
  guint num_classes = 0;
  std::string tensor_ids;
  std::string quantization;
  int backend = 0;
  guint threads = 1;
  int device_id = -1;

  bool operator==(const DecodeProps&) const = default;
};

/// True if they differ only in properties whose changes need no new plan.
bool only_tuned(const DecodeProps& a, const DecodeProps& b);

const PropertyTable<DecodeProps>& decode_properties();

/// Splits "a, b" into its words.
std::vector<std::string> ids_of(const std::string& text);

// GEnum and GFlags types of boxdecode's properties.

GType contract_type();     // 0: auto, otherwise 1 + index into contracts()
GType backend_type();      // 0: auto, otherwise 1 + index into backends()
GType nms_method_type();   // NmsMethod
GType multi_label_type();  // MultiLabel
GType mask_size_type();    // MaskSize
GType also_attach_type();  // AlsoAttach
GType tile_merge_type();   // TileMerge, or kUnionOf + TileMerge
GType on_mismatch_type();  // OnMismatch

/// Added to a TileMerge by values of tile-merge= for which boxes become their union.
inline constexpr int kUnionOf = 16;

}  // namespace keepbox
