// SPDX-License-Identifier: LGPL-2.1-or-later
// A model's output for the pictures of a frame.
#pragma once

#include <gst/gst.h>

#include <functional>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "gst/base/ownedbuffer.h"

namespace keepbox {

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
