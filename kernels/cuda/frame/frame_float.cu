// SPDX-License-Identifier: LGPL-2.1-or-later
// The frame kernel for float32.
#include "kernels/cuda/frame/frame.cuh"

namespace keepbox::cuda {

const void* frame_of_floats() { return frame_kernel<PlainLoad, Upright>(); }

}  // namespace keepbox::cuda
