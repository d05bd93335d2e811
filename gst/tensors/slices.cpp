// SPDX-License-Identifier: LGPL-2.1-or-later
// Batches of frames along a tensor's first dimension.
#include "gst/tensors/slices.h"

#include <vector>

namespace keepbox {

Shape slice_shape(const Shape& shape, size_t frames) {
  const auto dims = shape.dims();
  std::vector<size_t> out(dims.begin(), dims.end());
  out[0] = frames;
  return Shape(std::span<const size_t>(out));
}

}  // namespace keepbox
