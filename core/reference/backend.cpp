// SPDX-License-Identifier: LGPL-2.1-or-later
// Entry of the scalar backend, which runs every plan.
#include "core/reference/backend.h"

#include "core/run/host_runner.h"

namespace keepbox::reference {
namespace {

constexpr HostKernels kKernels = {.decode = decode,
                                  .select = select,
                                  .nms = nms,
                                  .payload = payload,
                                  .masks = masks,
                                  .enlarge = enlarge};

}  // namespace

Backend backend() {
  return {.name = "reference",
          .summary = "Scalar code on the CPU, the reference for all other backends",
          .memory = MemorySpace::kSystem,
          .supports = [](const Plan&) -> Status { return {}; },
          .runner = [](const Plan& plan, MemorySpace,
                       ThreadPool* threads) { return HostRunner::create(kKernels, plan, threads); },
          .input_maker = input_maker,
          .crop_maker = crop_maker,
          .kernels = &kKernels};
}

}  // namespace keepbox::reference
