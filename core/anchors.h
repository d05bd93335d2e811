// SPDX-License-Identifier: LGPL-2.1-or-later
// The grids of a plan's anchors, and the anchor boxes that stand on them.
#pragma once

#include "core/plan.h"
#include "core/result.h"

namespace keepbox {

/// Do the numbers of a box count from cells?
bool has_cells(BoxCoding coding);

/// The input that shows in the tensors' own maps: cells times stride, or 0 x 0.
Size input_of_maps(const Layout& layout);

/// Settles a plan's levels, sizes and prior boxes for a model's input. Errors: kMismatch where the
/// input has another number of anchors than the tensors, or a table of priors has.
/// @param told the input is known for certain.
Status settle_anchors(Plan& plan, const Settings& settings, Size model, bool told);

}  // namespace keepbox
