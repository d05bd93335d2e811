// SPDX-License-Identifier: LGPL-2.1-or-later
// The unit of a plan's coordinates.
#pragma once

#include <span>

#include "core/plan/plan.h"

namespace keepbox {

/// Settles the coordinates' units by settings, family or values, with a remark and warnings.
/// Without readable values the plan is provisional.
/// @param box_coding_unknown true if the values have not settled the coding of cells yet.
/// @param model size of the model input.
void settle_units(Plan& plan, const Settings& settings, bool box_coding_unknown,
                  std::span<const TensorView> tensors, Size model);

}  // namespace keepbox
