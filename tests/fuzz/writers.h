// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks of what boxsink's formats wrote, against the boxes that it was written of.
#pragma once

#include <map>
#include <span>
#include <string>

#include "gst/sink/boxwriter.h"
#include "tests/fuzz/fuzz.h"

namespace keepbox::fuzz {

/// A label or model as the formats have it: each byte that is not UTF-8 is U+FFFD.
std::string written_name(GQuark name);

/// A box's model where it is written.
std::string written_model(const FrameBox& box);

void check_jsonl(const FrameInfo& frame, std::span<const FrameBox> boxes,
                 const WriterOptions& options, const std::string& text);
/// @param text of the whole file. @param frames as they were written.
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

/// Whole files, written as boxsink does it.
void check_sessions(Input& input);

}  // namespace keepbox::fuzz
