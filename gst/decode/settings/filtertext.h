// SPDX-License-Identifier: LGPL-2.1-or-later
// Parses sizes and regions as users write them.
#pragma once

#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/plan/filters.h"
#include "gst/tensors/labels.h"

namespace keepbox {

/// Parses "16x16,person:32x64,2:8x8": a size for all classes and others for some; later entries
/// win. @param property for errors, which are kInvalid.
Result<BoxSizes> sizes_of(std::string_view text, const Labels& labels, const char* property);

/// Parses "x,y,w,h;x,y,w,h" in frame pixels; a region whose values are all at most 1 is in
/// fractions of the frame. @param property for errors, which are kInvalid.
Result<std::vector<Region>> regions_of(std::string_view text, const char* property);

}  // namespace keepbox
