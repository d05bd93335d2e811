// SPDX-License-Identifier: LGPL-2.1-or-later
// Entry of the scalar backend, which runs every plan.
#include "core/reference/reference.h"

namespace keepbox::reference {

Backend backend() {
  return {.name = "reference",
          .summary = "Scalar code on the CPU, the reference for all other backends",
          .memory = MemorySpace::kSystem,
          .supports = [](const Plan&) -> Status { return {}; },
          .decode = decode,
          .select = select,
          .nms = nms,
          .points = points,
          .coefficients = coefficients,
          .masks = masks,
          .input_maker = input_maker};
}

}  // namespace keepbox::reference
