// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of tensorinfer.
#pragma once

#include <gst/gst.h>

#include <string>

#include "gst/base/props.h"

namespace keepbox {

/// Values of resize-mode in addition to those of ResizeMode.
inline constexpr int kResizeOfModel = -1, kResizeToRectangle = 100;

/// Values of regions.
enum class Regions { kFrame, kObjects, kRoi };

/// Property values as set. Plain data: copied under the object lock.
struct InferProps {
  std::string model_file;
  std::string provider = "auto";
  std::string provider_options;
  int device_id = -1;
  guint threads = 0;
  std::string input_size;
  int channel_order = 0;  // ChannelOrder
  int resize_mode = kResizeOfModel;
  std::string input_mean, input_std;
  int pad_value = -1;
  guint interval = 1;
  bool hold = false;
  guint batch_size = 0;
  guint batch_timeout = 0;  // ms
  guint lookahead = 0;
  std::string tiles;
  int regions = 0;  // Regions
  std::string objects_of, include_classes, align;
  gfloat min_size = 0;
  gfloat grow = 1;
  std::string reinfer = "1";
  bool tensor_mtd = false;
};

const PropertyTable<InferProps>& infer_properties();

}  // namespace keepbox
