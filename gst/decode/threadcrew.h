// SPDX-License-Identifier: LGPL-2.1-or-later
// A crew of threads of its own.
#pragma once

#include <memory>

#include "core/crew.h"

namespace keepbox {

/// A crew of that many threads, at most kMaxCrew, or of as many as are to be had; nullptr for one.
/// They wait while there is nothing to do and end with the crew. Its run() takes no memory.
std::unique_ptr<Crew> make_thread_crew(uint32_t threads);

}  // namespace keepbox
