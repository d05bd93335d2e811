// SPDX-License-Identifier: LGPL-2.1-or-later
// What is read of kept boxes beside their corners, by settings, family and tensors.
#pragma once

#include "core/plan.h"

namespace keepbox {

/// Settles points and masks; what is not read of the payload leaves the layout. @pre the plan has its
/// layout, family, contract and method.
void settle_gathering(Plan& plan, const Settings& settings, std::span<const TensorView> tensors);

}  // namespace keepbox
