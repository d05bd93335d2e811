// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes that come from no tensors: their candidates before suppression, and their indices after it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/formula/candidate.h"
#include "kernels/cuda/device/launches.h"

namespace keepbox::cuda {

/// Maximum number of problems of a launch.
inline constexpr uint32_t kProblemsAtOnce = 128;

/// Counters of a problem, 0 between calls, like its control block and its header.
struct ListCounters {
  uint32_t taken = 0, dropped = 0;  // candidates, and other boxes
  uint32_t bad_class = 0;           // not 0: the complement of the first box with such a class
  Extent extent;
};

/// Results for the host.
struct ListResults {
  uint32_t sequence = 0;   // of the call, once everything else is valid
  uint32_t bad_class = 0;  // as in ListCounters, of any problem
};

/// Some problems of a call. Arrays have one element per problem, or one per box of all problems.
struct ListArgs {
  uint32_t count = 0;                    // problems
  uint32_t starts[kProblemsAtOnce + 1];  // first box of each, and the end of the last
  bool counts_all[kProblemsAtOnce];      // of each: Control::left counts boxes that are no
                                         // candidates too, for kernels that do not read it
  uint32_t largest = 0;                  // boxes of the largest problem
  BoxList list;                          // of all problems, like the following
  Boxes candidates;
  float* angles = nullptr;         // of oriented boxes
  const Detection* out = nullptr;  // kept ones, from the first box of each problem
  int64_t* indices = nullptr;
  Control* control = nullptr;  // of these problems, like the following
  Header* headers = nullptr;   // in device memory
  ListCounters* counters = nullptr;
  uint32_t* counts = nullptr;
  ListResults* results = nullptr;  // host memory; null: no one waits
  uint32_t sequence = 0;           // of the call if it is one small problem; 0: a signal follows

  /// True if one block writes the indices of each problem.
  bool is_small() const { return largest <= kRun; }
};

/// Makes candidates of the boxes of each problem, in any order. Boxes that are none follow them,
/// with keys that sort last. @param plan of any of the problems.
cudaError_t launch_list_candidates(const DevicePlan& plan, const ListArgs& args,
                                   cudaStream_t stream);

/// Writes the indices and numbers of kept boxes, sets counters, control blocks and headers to 0,
/// and sets the sequence of the results if there is one.
cudaError_t launch_list_indices(const ListArgs& args, cudaStream_t stream);

/// Sets the sequence of the results.
cudaError_t launch_list_signal(ListResults* results, uint32_t sequence, cudaStream_t stream);

}  // namespace keepbox::cuda
