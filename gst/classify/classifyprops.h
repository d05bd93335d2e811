// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of classdecode.
#pragma once

#include <gst/gst.h>

#include <string>

#include "gst/base/props.h"

namespace keepbox {

/// Treatment of a tracked object's results on frames without new ones.
enum class KeepResults {
  kNone,  // they end with their frame
  kLast,  // the last ones stay
  kBest,  // those with the highest confidence so far stay
};

/// Property values as set. Plain data: copied under the object lock.
struct ClassifyProps {
  int activation = -1;  // Activation; -1: recognised
  guint top_k = 1;
  gfloat score_threshold = 0;
  std::string label_file, attribute, model_name;
  int keep = static_cast<int>(KeepResults::kLast);

  bool operator==(const ClassifyProps&) const = default;
};

const PropertyTable<ClassifyProps>& classify_properties();

}  // namespace keepbox
