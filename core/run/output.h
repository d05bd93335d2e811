// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory of callers that a device writes results to.
#pragma once

#include <cstdint>

#include "core/formula/box.h"

namespace keepbox {

/// Counts of an image; see Funnel.
struct OutputFunnel {
  uint32_t anchors, above_threshold, not_finite, after_class_filter, after_top_k, kept,
      clipped_away, filtered_out;
};

/// Memory for the results, and the stream on which they are made.
struct DeviceOutput {
  Detection* boxes = nullptr;       // `capacity` per image
  uint32_t* counts = nullptr;       // one per image
  OutputFunnel* funnels = nullptr;  // likewise; may be null
  uint32_t capacity = 0;            // at least rules.kept_capacity
  void* stream = nullptr;
};

}  // namespace keepbox
