// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors of objects' images that no decoder has decoded, such as embeddings.
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"

namespace keepbox {

/// A tensor of one object.
struct ObjectTensor {
  guint od_id = 0;
  std::string id;     // given by the producer; may be empty
  std::string model;  // its name; empty if unknown
  DataType type = DataType::kFloat32;
  Shape shape;                // of one image, its first dimension is 1
  std::vector<uint8_t> data;  // as large as the shape

  /// Returns the tensor, borrowed.
  TensorView view() const {
    return {.id = id, .data = data.data(), .bytes = data.size(), .type = type, .shape = shape};
  }
};

/// Returns copies of the undecoded tensors of the objects that are still on a frame, in ascending
/// order of od_id. kTruncated if a tensor has less data than its shape, kNoResource if a device
/// cannot read it back.
Result<std::vector<ObjectTensor>> read_object_tensors(GstBuffer* frame);

/// Divides a tensor of real values by its Euclidean length, and makes it float32. Integers and
/// tensors of length 0, or with values that are not finite, stay as they are.
void normalize_l2(ObjectTensor& tensor);

}  // namespace keepbox
