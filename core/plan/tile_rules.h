// SPDX-License-Identifier: LGPL-2.1-or-later
// Tiles of a plan, and the rules by which their boxes become one per object.
#pragma once

#include "core/plan/plan.h"

namespace keepbox {

/// Sets the rules of a plan. Returns an error if its boxes cannot be joined by them.
Status settle_tile_rules(Plan& plan, const Settings& settings);

/// Sets the tiles of a plan, which are the images of its tensors, their rules and their limits.
/// @param frame pixels.
Status settle_tiles(Plan& plan, const Settings& settings, Size frame);

}  // namespace keepbox
