// SPDX-License-Identifier: LGPL-2.1-or-later
// Batches of frames along a tensor's first dimension.
#pragma once

#include "core/base/tensor.h"

namespace keepbox {

/// Returns the shape of a slice of a batch: the first dimension is the number of frames in it.
Shape slice_shape(const Shape& shape, size_t frames = 1);

}  // namespace keepbox
