// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of boxdecode: what the user typed, and what core makes of it.
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

#include "core/plan.h"
#include "gst/base/props.h"
#include "gst/decode/labels.h"
#include "gst/tensors/tensorsource.h"

namespace keepbox {

/// Property values as set. Plain data: copied under the object lock.
struct DecodeProps {
  std::string detector = Settings{}.detector;
  std::string tensor_ids;
  std::string quantization;
  gfloat score_threshold = Settings{}.score_threshold;
  gfloat iou_threshold = Settings{}.iou_threshold;
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
  std::string model_name;

  bool operator==(const DecodeProps&) const = default;
};

/// Do they differ by no more than what retune() takes, and what only the frame's metas show?
bool only_tuned(const DecodeProps& a, const DecodeProps& b);

const PropertyTable<DecodeProps>& decode_properties();

/// "a, b" as the list of its words.
std::vector<std::string> ids_of(const std::string& text);

/// Core settings for frames of that size, all but priors. What is set counts before what the
/// tensors' source says, and that before any guess. Errors name the property.
/// @param source may be nullptr.
Result<Settings> resolve(const DecodeProps& props, const Labels& labels, const Picture& frame,
                         const TensorSource* source);

/// Puts the values of `old` in place of lists of classes, sizes and regions that are wrong.
/// @return what is wrong with each; the hint names what stays.
std::vector<Error> keep_right_lists(DecodeProps& props, const DecodeProps& old,
                                    const Labels& labels);

/// Puts lists that are in force in place of those that were asked for, unless they are others by
/// now.
/// @return the names of those that became others.
std::vector<const char*> take_lists(DecodeProps& props, const DecodeProps& asked,
                                    const DecodeProps& in_force);

}  // namespace keepbox
