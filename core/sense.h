// SPDX-License-Identifier: LGPL-2.1-or-later
// Warnings for implausible settings.
#pragma once

#include <vector>

#include "core/plan.h"

namespace keepbox {

/// Returns one warning per implausible setting: thresholds that let nothing or everything through,
/// classes that the model does not have, NMS settings without NMS.
std::vector<Error> senseless(const Plan& plan, const Settings& settings);

}  // namespace keepbox
