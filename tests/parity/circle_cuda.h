// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels of the CUDA backend for circles.
#pragma once

namespace keepbox::cuda {

struct Kernels;

const Kernels& circle_kernels();

}  // namespace keepbox::cuda
