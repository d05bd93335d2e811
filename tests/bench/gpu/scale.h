// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames for sections that run many at once, and runs that end the benchmark if they fail.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <span>

#include "tests/bench/gpu/gpu.h"

namespace keepbox::test::gpu {

inline constexpr size_t kAnchors = 8400, kScenes = 16;

inline Input make_scenes(Session& session, const char* section) {
  return make_input(session, section, "84x8400, street, score > 0.25", "",
                    frame_settings(true, 0.25f), scenes(true, kAnchors, kStreet, kScenes));
}

inline void run_or_exit(Processor& processor, std::span<const TensorView> views) {
  const Status status = processor.run(views);
  if (status) return;
  std::fprintf(stderr, "gpu-bench: %s\n", status.error().message().c_str());
  std::exit(1);
}

inline void run_or_exit(Processor& processor, const TensorView& view) {
  run_or_exit(processor, std::span(&view, 1));
}

}  // namespace keepbox::test::gpu
