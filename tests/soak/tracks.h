// SPDX-License-Identifier: LGPL-2.1-or-later
// Trackers of each method, on a crowd that comes and goes.
#pragma once

#include <cstdint>
#include <functional>

namespace keepbox::soak {

/// Follows frames of a crowd with each method. @param each called after each frame with its number.
/// @return the number of ids that were given.
uint64_t follow_crowd(uint64_t frames, const std::function<void(uint64_t)>& each);

}  // namespace keepbox::soak
