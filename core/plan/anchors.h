// SPDX-License-Identifier: LGPL-2.1-or-later
// Anchors, priors and payloads of a plan.
#pragma once

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace keepbox {

// Grids and anchor boxes of a plan.

/// Settles the levels, anchor sizes and prior boxes of a plan for a model input. Returns kMismatch
/// if the input implies a different number of anchors than the tensors or the table of priors have.
/// @param known true if the input size is known, not guessed.
Status settle_anchors(Plan& plan, const Settings& settings, Size model, bool known);

// Decides which keypoints and masks are computed, by settings, family and tensors.

/// Settles keypoints and masks, and removes an unused payload from the layout. @pre the plan has
/// its layout, family, contract and method.
void settle_payload(Plan& plan, const Settings& settings, std::span<const TensorView> tensors);

}  // namespace keepbox
