// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors of objects' images, one by one: those that no decoder has decoded, such as embeddings.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include <optional>
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
  Shape shape;  // of one image, its first dimension is 1
  GstTensorDimOrder order = GST_TENSOR_DIM_ORDER_ROW_MAJOR;
  std::vector<uint8_t> data;  // as large as the shape

  /// Returns the tensor, borrowed.
  TensorView view() const {
    return {.id = id, .data = data.data(), .bytes = data.size(), .type = type, .shape = shape};
  }
};

/// Returns copies of the undecoded tensors of the objects that are still on a frame, in ascending
/// order of od_id. kTruncated if a tensor has less data than its shape, kNoResource if a device
/// cannot read it back.
/// @param producer TensorProvenance::producer of the only ones that are returned; unset: all.
Result<std::vector<ObjectTensor>> read_object_tensors(GstBuffer* frame,
                                                      std::optional<guint64> producer = {});

/// Adds the tensors of a producer to its objects, as GstAnalyticsTensorMtd that are part of them,
/// with data of their own. A frame has at most kMaxMtds mtds; objects beyond that get none.
/// Returns how many tensors were left out. Errors are those of read_object_tensors().
/// @pre has_tensor_mtds().
Result<size_t> attach_object_tensors(GstBuffer* frame, guint64 producer);

/// Divides a tensor of real values by its Euclidean length, and makes it float32. Integers and
/// tensors of length 0, or with values that are not finite, stay as they are.
void normalize_l2(ObjectTensor& tensor);

}  // namespace keepbox
