// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames that go through framesave and framerestore.
#pragma once

#include "tests/gst/frames.h"

namespace keepbox::test {

inline constexpr const char* kFull = "video/x-raw,format=RGB,width=192,height=108,framerate=30/1";

inline GstBuffer* full_frame(guint8 value = 7) {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 192 * 108 * 3, nullptr);
  gst_buffer_memset(frame, 0, value, 192 * 108 * 3);
  GST_BUFFER_PTS(frame) = 40 * GST_MSECOND;
  return frame;
}

}  // namespace keepbox::test
