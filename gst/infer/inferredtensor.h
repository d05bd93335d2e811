// SPDX-License-Identifier: LGPL-2.1-or-later
// A model's output for the pictures of a frame.
#pragma once

#include <gst/gst.h>

#include <functional>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"

namespace keepbox {

/// Owns a buffer reference.
struct BufferUnref {
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
};
using OwnedBuffer = std::unique_ptr<GstBuffer, BufferUnref>;

/// An output of a model for a frame. In CUDA memory it has kReadyEvent.
struct InferredTensor {
  DataType type = DataType::kFloat32;
  Shape shape;
  OwnedBuffer data;
};

/// Joins the outputs of a frame's pictures along their first dimension. @param parts each with all
/// outputs of some pictures, in the order of the pictures; more than one.
using JoinTensors = std::function<Result<std::vector<InferredTensor>>(
    std::vector<std::vector<InferredTensor>> parts)>;

/// Returns the shapes of joined outputs. kUnsupported if parts differ in more than the number of
/// pictures.
Result<std::vector<Shape>> joined_shapes(const std::vector<std::vector<InferredTensor>>& parts);

}  // namespace keepbox
