// SPDX-License-Identifier: LGPL-2.1-or-later
// Plans of model inputs.
#pragma once

#include <gtest/gtest.h>

#include "core/plan/input.h"

namespace keepbox::test {

inline FrameForm grey(uint32_t width, uint32_t height) {
  FrameForm form{.size = {width, height}, .planes = 1};
  for (size_t i = 0; i < 3; ++i) form.matrix[i][i] = 1;
  return form;
}

inline InputForm square(uint32_t side) { return {.size = {side, side}}; }

inline InputPlan planned(const FrameForm& frame, const InputForm& input, ResizeMode mode,
                         uint32_t par_n = 1, uint32_t par_d = 1) {
  auto plan = plan_input(frame, par_n, par_d, input, mode);
  EXPECT_TRUE(plan) << plan.error().message();
  return plan ? *plan : InputPlan{};
}

}  // namespace keepbox::test
