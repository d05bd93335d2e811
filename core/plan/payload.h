// SPDX-License-Identifier: LGPL-2.1-or-later
// Decides which keypoints and masks are computed, by settings, family and tensors.
#pragma once

#include "core/plan/plan.h"

namespace keepbox {

/// Settles keypoints and masks, and removes an unused payload from the layout. @pre the plan has
/// its layout, family, contract and method.
void settle_payload(Plan& plan, const Settings& settings, std::span<const TensorView> tensors);

}  // namespace keepbox
