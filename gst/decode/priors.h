// SPDX-License-Identifier: LGPL-2.1-or-later
// Prior boxes from a text file.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace keepbox {

/// Reads numbers separated by white space: N lines of cy cx h w, or four lines with all cy, all cx,
/// all h and all w, as fractions of the model input.
Result<std::vector<Prior>> load_priors(const char* path);

}  // namespace keepbox
