// SPDX-License-Identifier: LGPL-2.1-or-later
// Families that may be meant instead of one that was recognised or set.
#pragma once

#include <span>
#include <string>

#include "core/recognition/layout.h"

namespace keepbox {

/// Lists the names of the other families that fit the tensors and their values, and whose anchors
/// are those of the input if the input is known; empty if there are none.
/// @param input 0 x 0 if unknown.
std::string other_families(const Layout& than, std::span<const TensorView> tensors,
                           const Request& request, Size input);

}  // namespace keepbox
