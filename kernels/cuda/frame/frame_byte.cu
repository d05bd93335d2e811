// SPDX-License-Identifier: LGPL-2.1-or-later
// The frame kernel for quantised bytes.
#include "kernels/cuda/frame/frame.cuh"

namespace keepbox::cuda {

const void* frame_of_bytes() { return frame_kernel<ByteLoad, Upright>(); }

}  // namespace keepbox::cuda
