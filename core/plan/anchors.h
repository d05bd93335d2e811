// SPDX-License-Identifier: LGPL-2.1-or-later
// Grids and anchor boxes of a plan.
#pragma once

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace keepbox {

/// Settles the levels, anchor sizes and prior boxes of a plan for a model input. Returns kMismatch
/// if the input implies a different number of anchors than the tensors or the table of priors have.
/// @param known true if the input size is known, not guessed.
Status settle_anchors(Plan& plan, const Settings& settings, Size model, bool known);

}  // namespace keepbox
