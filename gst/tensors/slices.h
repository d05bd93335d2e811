// SPDX-License-Identifier: LGPL-2.1-or-later
// Batches of frames along a tensor's first dimension.
#pragma once

#include "core/base/tensor.h"

namespace keepbox {

/// Returns the shape of one frame's slice of a batch: the first dimension is 1.
Shape slice_shape(const Shape& shape);

}  // namespace keepbox
