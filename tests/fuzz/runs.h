// SPDX-License-Identifier: LGPL-2.1-or-later
// A plan run on every backend of the host.
#pragma once

#include "core/plan.h"
#include "tests/fuzz/frame.h"

namespace keepbox::fuzz {

/// Threads for runs; made once.
void make_crew();

/// Makes a plan for a frame and runs it everywhere: on these numbers, on them again, on others, with
/// less data than there should be, and with other thresholds. Counts what came of it.
/// @param as what plans are counted as: a family's name
/// @return was there a plan?
bool run_everywhere(Input& input, const Settings& settings, Frame& frame, std::string_view as);

}  // namespace keepbox::fuzz
