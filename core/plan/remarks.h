// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts of a plan for the log and for hints.
#pragma once

#include <span>

#include "core/plan/plan.h"

namespace keepbox {

/// Adds to a hint to set detector= the other families that fit. Without any, adds a file that
/// describes the model's family if the hint is empty.
void suggest_others(Error& error, const Plan& plan, std::span<const TensorView> tensors,
                    const Request& request, Size input);

/// Adds to the remark which conventions of the producer's framework are in force.
void note_declared(Plan& plan, const Settings& settings);

}  // namespace keepbox
