// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a plan on every backend of the host.
#pragma once

#include "core/plan/plan.h"
#include "tests/fuzz/frames/frame.h"

namespace keepbox::fuzz {

/// Makes the threads for runs, once.
void make_crew();

/// Makes a plan for a frame and runs it everywhere: on its values, on these again, on other values,
/// with truncated data, and with other thresholds. Counts the outcomes.
/// @param as name for counting plans: a family's name
/// @return true if there was a plan.
bool run_everywhere(Input& input, const Settings& settings, Frame& frame, std::string_view as);

}  // namespace keepbox::fuzz
