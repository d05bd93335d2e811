// SPDX-License-Identifier: LGPL-2.1-or-later
// The frame kernel for float16 and bfloat16.
#include "kernels/cuda/frame/frame.cuh"

namespace keepbox::cuda {

const void* frame_of_halves() { return frame_kernel<HalfLoad, Upright>(); }

}  // namespace keepbox::cuda
