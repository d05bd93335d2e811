// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks the output of boxsink's formats against the boxes.
#pragma once

#include <map>
#include <span>
#include <string>

#include "gst/sink/writer.h"
#include "tests/fuzz/fuzz.h"

namespace keepbox::fuzz {

/// Returns a label or model as written: each invalid UTF-8 byte is U+FFFD.
std::string written_name(GQuark name);

/// Returns a box's model if it is written.
std::string written_model(const FrameBox& box);

void check_jsonl(const FrameInfo& frame, std::span<const FrameBox> boxes,
                 const WriterOptions& options, const std::string& text);
/// @param text of the complete file. @param frames as they were written.
struct CocoFrame {
  FrameInfo info;
  std::span<const FrameBox> boxes;
};
void check_coco(std::span<const CocoFrame> frames, const WriterOptions& options,
                const std::string& text);

void check_mot(const FrameInfo& frame, std::span<const FrameBox> boxes, const std::string& text);
void check_kitti(std::span<const FrameBox> boxes, const std::string& text);
void check_csv(const FrameInfo& frame, std::span<const FrameBox> boxes, const std::string& text);
void check_dota(const FrameInfo& frame, std::span<const FrameBox> boxes,
                const std::map<std::string, std::string>& by_class);

/// Writes complete files like boxsink.
void check_sessions(Input& input);

}  // namespace keepbox::fuzz
