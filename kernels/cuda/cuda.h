// SPDX-License-Identifier: LGPL-2.1-or-later
// The CUDA backend. It works in the context that is current on the calling thread, and needs the
// same one for all calls of a Runner, its destructor included.
#pragma once

#include "core/backend.h"

namespace keepbox::cuda {

Backend backend();

/// The kernels that compare boxes, of one geometry: kernels/cuda/device.h.
struct Kernels;

/// Which launches a run may use, for tests of each.
enum class Path {
  kAny,
  kSlow,    // the frame kernel only decodes
  kMasked,  // the same, and no grid waits for itself
  kAlone,   // blocks of the frame kernel leave all to the last one
};

/// A runner of frames on the current device. Errors: kNoResource.
/// @param kernels nullptr: those for the plan's boxes.
Result<std::unique_ptr<Runner>> make_runner(const Plan& plan, MemorySpace memory,
                                            Path path = Path::kAny,
                                            const Kernels* kernels = nullptr);

/// A maker of inputs on the current device, whose tables are its own. Errors: kNoResource.
Result<std::unique_ptr<InputMaker>> input_maker(const InputPlan& plan);

}  // namespace keepbox::cuda
