// SPDX-License-Identifier: LGPL-2.1-or-later
// Warnings for implausible settings.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/tensor.h"
#include "core/plan/plan.h"

namespace keepbox {

/// Returns one warning per implausible setting: thresholds that no score or every score passes,
/// classes that the model does not have, NMS settings without NMS.
std::vector<Error> lint_settings(const Plan& plan, const Settings& settings);

/// Returns a warning if the family ignores tensors that are named masks or keypoints; for a family
/// that is set, also if an optional tensor has other channels than it knows, or if it leaves half
/// of the tensors unread.
/// @param set the family is set.
std::optional<Error> unread_tensors(const Layout& layout, const Settings& settings,
                                    std::span<const TensorView> tensors, bool set);

}  // namespace keepbox
