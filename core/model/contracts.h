// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of NMS contracts.
#pragma once

#include <span>
#include <string_view>

#include "core/formula/contract.h"

namespace keepbox {

/// Returns the named contracts, "exact" first.
std::span<const NmsContract> contracts();

/// Returns the contract of that name, or nullptr.
const NmsContract* find_contract(std::string_view name);

}  // namespace keepbox
