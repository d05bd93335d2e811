// SPDX-License-Identifier: LGPL-2.1-or-later
// List of the backends in this build, declared in core/run/backend.h.
#include "core/reference/backend.h"
#include "core/run/backend.h"
#ifdef KEEPBOX_CUDA
#include "kernels/cuda/backend.h"
#endif
#ifdef KEEPBOX_SIMD
#include "kernels/simd/backend.h"
#endif

namespace keepbox {
namespace {

const Backend kBackends[] = {
#ifdef KEEPBOX_CUDA
    cuda::backend(),
#endif
#ifdef KEEPBOX_SIMD
    simd::backend(),
#endif
    reference::backend(),
};

}  // namespace

std::span<const Backend> backends() { return kBackends; }

}  // namespace keepbox
