// SPDX-License-Identifier: LGPL-2.1-or-later
// Entry of the vector backend, which runs every plan.
#include "kernels/simd/backend.h"

#include "core/reference/backend.h"
#include "core/run/host_runner.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/backend.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

int64_t CurrentTarget() { return HWY_TARGET; }

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace keepbox::simd {

HWY_EXPORT(CurrentTarget);

namespace {

constexpr HostKernels kKernels = {.decode = decode,
                                  .select = select,
                                  .nms = nms,
                                  .payload = reference::payload,
                                  .masks = masks,
                                  .enlarge = enlarge};

}  // namespace

Backend backend() {
  return {.name = "simd",
          .summary = "SIMD code on the CPU, for the best instruction set available",
          .memory = MemorySpace::kSystem,
          .supports = [](const Plan&) -> Status { return {}; },
          .runner = [](const Plan& plan, MemorySpace,
                       ThreadPool* threads) { return HostRunner::create(kKernels, plan, threads); },
          .input_maker = input_maker,
          .crop_maker = reference::crop_maker,
          .variant = target,
          .kernels = &kKernels};
}

std::string_view target() { return hwy::TargetName(HWY_DYNAMIC_DISPATCH(CurrentTarget)()); }

std::vector<std::string_view> targets() {
  force_target("");
  std::vector<std::string_view> names;
  for (int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1)
    names.emplace_back(hwy::TargetName(rest & -rest));
  return names;
}

void force_target(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  for (int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1)
    if (name == hwy::TargetName(rest & -rest)) hwy::SetSupportedTargetsForTest(rest & -rest);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace keepbox::simd
#endif  // HWY_ONCE
