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

/// Returns a warning if the family ignores tensors that are named masks or keypoints.
std::optional<Error> undecoded_payload(const Layout& layout, const Settings& settings,
                                       std::span<const TensorView> tensors);

}  // namespace keepbox
