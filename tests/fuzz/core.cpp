// SPDX-License-Identifier: LGPL-2.1-or-later
// Plans and runs: any family, any tensors, any settings. All backends give the same boxes, which
// are within the settings.
#include "tests/fuzz/frames/runs.h"
#include "tests/fuzz/frames/settings.h"
#include "tests/fuzz/fuzz.h"

namespace keepbox::fuzz {

const char* const kSurface = "core";

void set_up() { make_crew(); }

void run_one(Input& input) {
  const DetectorSpec& listed = input.pick(detectors());
  const auto changed =
      input.chance(30) ? changed_family(input, listed) : std::shared_ptr<const DetectorSpec>();
  const DetectorSpec& spec = changed ? *changed : listed;
  Frame frame = input.chance(4) ? draw_absurd(input, spec) : draw_frame(input, spec);
  if (input.chance(12)) spoil(input, frame);
  fill(input, frame);
  const Settings settings = draw_settings(input, spec, frame, changed);
  run_everywhere(input, settings, frame, changed ? "a changed family" : listed.name);
}

}  // namespace keepbox::fuzz
