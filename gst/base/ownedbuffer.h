// SPDX-License-Identifier: LGPL-2.1-or-later
// Ownership of a buffer.
#pragma once

#include <gst/gst.h>

#include <memory>

namespace keepbox {

/// Owns a buffer reference.
struct BufferUnref {
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
};
using OwnedBuffer = std::unique_ptr<GstBuffer, BufferUnref>;

}  // namespace keepbox
