// SPDX-License-Identifier: LGPL-2.1-or-later
// Method and limits of suppression, by settings, contract and family.
#pragma once

#include <optional>

#include "core/plan/plan.h"

namespace keepbox {

/// Returns the contract with class_agnostic of the settings; rules that do not apply to oriented
/// boxes are off.
NmsContract settle_contract(const NmsContract& contract, const Settings& settings, bool oriented);

/// Settles Rules::reach for OrientedGaussian, by method and threshold.
void settle_reach(Rules& rules);

/// Returns a warning if a frame had more candidates than the method's own limit.
/// @param compared number of candidates that reached suppression.
std::optional<Error> ceiling_reached(const Plan& plan, uint32_t candidates, uint32_t compared);

/// Settles the method and all limits. @pre the plan has its layout, family and contract.
void settle_limits(Plan& plan, const Settings& settings);

}  // namespace keepbox
