// SPDX-License-Identifier: LGPL-2.1-or-later
// The CUDA backend. It uses the context that is current on the calling thread, which must be the
// same for all calls of a Runner, including its destructor.
#pragma once

#include "core/run/backend.h"

namespace keepbox::cuda {

Backend backend();

/// Kernels that compare boxes of one geometry: kernels/cuda/device/launches.h.
struct Kernels;

/// Launches that a run may use, for tests of each.
enum class Path {
  kAny,
  kOneLaunch,  // the frame kernel only decodes, and one_launch() is enqueued after it
  kLarge,      // the frame kernel only decodes, and one_launch() is not used
  kMasked,     // as kLarge, without cooperative launches
  kAlone,      // blocks of the frame kernel leave all suppression to the last one
};

/// Creates a runner on the current device. Errors: kNoResource.
/// @param kernels nullptr: the kernels for the plan's geometry.
Result<std::unique_ptr<Runner>> make_runner(const Plan& plan, MemorySpace memory,
                                            Path path = Path::kAny,
                                            const Kernels* kernels = nullptr);

/// Returns an error for rules by which too many candidates would be compared with each other.
Status check_pairs(const Rules& rules);

/// Creates a runner of suppression alone. Unlike the others it may use a device that is not the
/// current one. Errors: kUnsupported.
Result<std::unique_ptr<BoxRunner>> box_runner(const Settings& settings, bool oriented, int device);

/// Creates an input maker with its tables on the current device. Errors: kNoResource.
Result<std::unique_ptr<InputMaker>> input_maker(const InputPlan& plan);

/// Creates a maker of crops. Errors: kNoResource.
Result<std::unique_ptr<CropMaker>> crop_maker(const CropPlan& plan);

}  // namespace keepbox::cuda
