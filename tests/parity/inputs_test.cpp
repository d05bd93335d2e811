// SPDX-License-Identifier: LGPL-2.1-or-later
// Every input maker on every frame layout, compared value by value.
#include <gtest/gtest.h>

#include <format>

#include "core/reference/backend.h"
#include "tests/parity/candidates.h"
#include "tests/parity/inputs.h"

namespace keepbox::test {
namespace {

/// Compares the inputs that every backend makes of random frames.
void expect_equal_inputs(MakerOf maker_of) {
  size_t makers = 0;
  for (const std::string& name : candidates()) {
    const Backend backend = candidate(name);
    if (backend.input_maker == nullptr || name.starts_with("cuda ")) continue;
    ++makers;
    size_t wrong = 0;
    for (const FrameLayout& layout : layouts())
      for (unsigned seed = 0; seed < 4 * seeds && wrong < 5; ++seed) {
        const InputCase each = input_case(layout, seed);
        ASSERT_NE(each.plan.frame.planes, 0);
        const Made want = make_on_host(reference::backend(), each, maker_of);
        const Made got = backend.memory == MemorySpace::kCuda
                             ? make_on_device(backend, each, maker_of)
                             : make_on_host(backend, each, maker_of);
        const auto found = input_difference(got, want, each.plan.input.type);
        if (found) ++wrong;
        EXPECT_FALSE(found) << std::format("{} {} seed {}: {}: {}", name, layout.name, seed,
                                           each.to_string(), *found);
      }
  }
  if (makers == 0) GTEST_SKIP() << "the reference is the only backend here";
}

TEST(Inputs, MatchTheReference) { expect_equal_inputs(whole_maker); }

TEST(Inputs, OfCropsMatchTheReference) { expect_equal_inputs(crop_maker); }

}  // namespace
}  // namespace keepbox::test
