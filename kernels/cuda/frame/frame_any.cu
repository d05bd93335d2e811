// SPDX-License-Identifier: LGPL-2.1-or-later
// The frame kernel for all other types.
#include "kernels/cuda/frame/frame.cuh"

namespace keepbox::cuda {

const void* frame_of_any() { return frame_kernel<AnyLoad, Upright>(); }

}  // namespace keepbox::cuda
