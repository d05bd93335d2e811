// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes, and their text in the formats.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gst/sink/writer.h"

namespace keepbox::test {

inline const FrameInfo kFrame{.number = 7, .timestamp = 40000000, .size = {640, 480}};

/// A box of our decoder: class, anchor and fractions of a pixel.
inline FrameBox person() {
  return {.box = {64.5f, 48, 320.25f, 240},
          .score = 0.890163f,
          .label = g_quark_from_string("person"),
          .class_id = 0,
          .anchor = 8123,
          .od_id = 3};
}

/// A box of another decoder: whole pixels, no class.
inline FrameBox foreign(const char* label) {
  return {.box = {10, 20, 30, 60}, .score = 0.1f, .label = g_quark_from_string(label), .od_id = 4};
}

inline std::string text_of(BoxWriter& writer, std::span<const FrameBox> boxes,
                           const FrameInfo& frame = kFrame) {
  std::string out;
  const Status status = writer.write(frame, boxes, out);
  return status ? out : status.error().message();
}

inline std::string text_of(BoxFormat format, std::vector<FrameBox> boxes,
                           WriterOptions options = {}, const FrameInfo& frame = kFrame) {
  BoxWriter writer(format, std::move(options));
  return text_of(writer, boxes, frame);
}

}  // namespace keepbox::test
