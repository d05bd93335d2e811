// SPDX-License-Identifier: LGPL-2.1-or-later
// Joins the outputs of the pictures of a frame.
#include "gst/infer/inferredtensor.h"

#include "gst/tensors/slices.h"

namespace keepbox {

Result<std::vector<Shape>> joined_shapes(const std::vector<std::vector<InferredTensor>>& parts) {
  std::vector<Shape> out;
  for (const InferredTensor& first : parts.front()) {
    const size_t number = out.size();
    size_t pictures = 0;
    for (const auto& part : parts) {
      const Shape& shape = part[number].shape;
      if (shape.rank() == 0 || slice_shape(shape) != slice_shape(first.shape))
        return reject(
            ErrorKind::kUnsupported,
            "The outputs of a frame's pictures differ in size: " + first.shape.to_string() +
                " and " + shape.to_string(),
            "export the model without NMS, or leave tiles=, tile-size= and regions= unset");
      pictures += shape[0];
    }
    out.push_back(slice_shape(first.shape, pictures));
  }
  return out;
}

}  // namespace keepbox
