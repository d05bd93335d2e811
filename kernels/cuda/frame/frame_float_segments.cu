// SPDX-License-Identifier: LGPL-2.1-or-later
// The frame kernel for float32 in segments.
#include "kernels/cuda/frame/frame.cuh"

namespace keepbox::cuda {

const void* frame_of_float_segments() { return frame_kernel<InSegments<PlainLoad>, Upright>(); }

}  // namespace keepbox::cuda
