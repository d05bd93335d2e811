// SPDX-License-Identifier: LGPL-2.1-or-later
// Settings and families like those of users and files.
#pragma once

#include <memory>

#include "core/model/words.h"
#include "core/plan/plan.h"
#include "tests/fuzz/frames/frame.h"

namespace keepbox::fuzz {

/// Draws a value of an enum.
template <class E, size_t kCount>
E any(Input& input, const Word<E> (&words)[kCount]) {
  return words[input.below(kCount)].value;
}

/// Returns a family of the table with fields changed such that files of it are accepted.
std::shared_ptr<const DetectorSpec> changed_family(Input& input, const DetectorSpec& from);

/// Returns settings for a frame that mostly fit it. @param changed a family outside of the table.
Settings draw_settings(Input& input, const DetectorSpec& spec, const Frame& frame,
                       std::shared_ptr<const DetectorSpec> changed);

/// Draws new values for settings that do not require a new plan.
void draw_tunables(Input& input, Settings& settings);

}  // namespace keepbox::fuzz
