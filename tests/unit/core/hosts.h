// SPDX-License-Identifier: LGPL-2.1-or-later
// One tensor on every backend of the processor.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "tests/scene.h"

namespace keepbox::test {

/// Decodes the tensor on each backend of the processor, and calls what(Processor&, name).
void on_each_host(const Settings& settings, const TensorView& view, auto what) {
  for (const Backend& backend : backends()) {
    if (backend.memory != MemorySpace::kSystem) continue;
    auto plan = make_plan(settings, {&view, 1});
    ASSERT_TRUE(plan) << plan.error().message();
    auto processor = Processor::create(std::move(*plan), {&backend, ""});
    ASSERT_TRUE(processor && processor->run({&view, 1}));
    what(*processor, backend.name);
  }
}

}  // namespace keepbox::test
