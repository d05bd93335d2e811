// SPDX-License-Identifier: LGPL-2.1-or-later
// The frame kernel for float16 and bfloat16.
#include "kernels/cuda/frame.cuh"

namespace keepbox::cuda {

const void* frame_of_halves() { return reinterpret_cast<const void*>(frame<HalfLoad>); }

}  // namespace keepbox::cuda
