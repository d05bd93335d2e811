// SPDX-License-Identifier: LGPL-2.1-or-later
// How suppression goes and where it ends, by settings, contract and family.
#pragma once

#include <optional>

#include "core/backend.h"
#include "core/plan.h"

namespace keepbox {

/// A contract with the settings' word on classes, without what turned boxes do not have.
NmsContract settle_contract(const NmsContract& contract, const Settings& settings, bool turned);

/// What the method and the threshold say of TurnedGaussian.
void settle_reach(Rules& rules);

/// What to warn of where a frame had more candidates than its method takes by itself.
std::optional<Error> ceiling_reached(const Plan& plan, const Funnel& funnel);

/// The method, and all limits. @pre the plan has its layout, family and contract.
void settle_limits(Plan& plan, const Settings& settings);

}  // namespace keepbox
