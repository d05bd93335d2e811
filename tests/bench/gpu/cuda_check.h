// SPDX-License-Identifier: LGPL-2.1-or-later
// Error checks: a failed CUDA call ends the benchmark.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

namespace keepbox::test {

inline void require(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "gpu-bench: expected success of %s, found %s: %s\n", call,
               cudaGetErrorName(status), cudaGetErrorString(status));
  std::exit(1);
}

}  // namespace keepbox::test

#define KB_CUDA(call) ::keepbox::test::require((call), #call)
