// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the address at which a server can be reached.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "core/base/result.h"

namespace keepbox {

/// Resolves a name and returns the first of its addresses, as a number, that accepts a connection
/// within that time. kInterrupted if `stopping` becomes true.
Result<std::string> reachable_address(const std::string& host, int port,
                                      std::chrono::milliseconds within,
                                      const std::atomic<bool>& stopping);

}  // namespace keepbox
