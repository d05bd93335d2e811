// SPDX-License-Identifier: LGPL-2.1-or-later
// Settings and families as users and files make them.
#pragma once

#include <memory>

#include "core/plan.h"
#include "tests/fuzz/frame.h"

namespace keepbox::fuzz {

/// A family of the table with fields changed, each so that files of it are taken.
std::shared_ptr<const DetectorSpec> changed_family(Input& input, const DetectorSpec& from);

/// Settings for a frame, mostly such as fit it. @param changed a family that is not in the table.
Settings draw_settings(Input& input, const DetectorSpec& spec, const Frame& frame,
                       std::shared_ptr<const DetectorSpec> changed);

/// Others of those that a plan need not be made anew for.
void draw_tunables(Input& input, Settings& settings);

}  // namespace keepbox::fuzz
