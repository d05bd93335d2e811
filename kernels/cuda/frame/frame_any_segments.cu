// SPDX-License-Identifier: LGPL-2.1-or-later
// The frame kernel for all other types in segments.
#include "kernels/cuda/frame/frame.cuh"

namespace keepbox::cuda {

const void* frame_of_any_segments() { return frame_kernel<InSegments<AnyLoad>, Upright>(); }

}  // namespace keepbox::cuda
