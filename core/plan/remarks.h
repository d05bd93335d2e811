// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts of a plan for the log and for hints.
#pragma once

#include <span>

#include "core/plan/plan.h"

namespace keepbox {

/// Adds the other families that fit to a hint to set detector=. If none fits and the hint is empty,
/// suggests a file that describes the model's family.
void suggest_others(Error& error, const Plan& plan, std::span<const TensorView> tensors,
                    const Request& request, Size input);

/// Adds the conventions of the producer's framework that apply to the remark.
void note_declared(Plan& plan, const Settings& settings);

}  // namespace keepbox
