// SPDX-License-Identifier: LGPL-2.1-or-later
// A model's output for one picture.
#pragma once

#include <gst/gst.h>

#include <memory>

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

}  // namespace keepbox
