// SPDX-License-Identifier: LGPL-2.1-or-later
// Settings that are legal and cannot be meant.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/plan.h"
#include "core/tensor.h"

namespace keepbox {

/// What makes no sense for a plan: thresholds that let nothing or everything through, classes that
/// the model does not have, suppression's settings where nothing is suppressed. One Error each.
std::vector<Error> senseless(const Plan& plan, const Settings& settings);

/// A warning if tensors called masks or keypoints are not part of what the family decodes.
std::optional<Error> undecoded_payload(const Layout& layout, std::span<const TensorView> tensors);

}  // namespace keepbox
