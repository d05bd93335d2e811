// SPDX-License-Identifier: LGPL-2.1-or-later
// Joint plans: several frames with tensors of their own, such as one of each stream, in one run.
#pragma once

#include <cstdint>
#include <span>

#include "core/plan/plan.h"

namespace keepbox {

/// True if frames of this plan can have a joint plan: each is one image, and its rows do not name
/// an image.
bool can_join(const Plan& plan);

/// Returns a plan for up to `frames` frames at a time, each with tensors of the plan's forms and
/// with its own map. @pre can_join(plan)
Plan joint_plan(Plan plan, uint32_t frames);

/// True if both plans make the same boxes of the same tensors, except for the maps to their frames.
bool are_alike(const Plan& a, const Plan& b);

/// True if tensors follow each other in memory, one by one.
/// @param tensors, next of two frames by the same plan.
bool are_adjacent(std::span<const TensorView> tensors, std::span<const TensorView> next);

}  // namespace keepbox
