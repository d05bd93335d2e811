// SPDX-License-Identifier: LGPL-2.1-or-later
// The formats of BoxWriter; each function appends a frame's text as documented there.
#pragma once

#include <map>
#include <span>
#include <string>

#include "gst/sink/boxwriter.h"
#include "gst/sink/motids.h"

namespace keepbox {

void write_jsonl(const FrameInfo& frame, std::span<const FrameBox> boxes,
                 const WriterOptions& options, std::string& out);

/// Appends a box as an element of `objects` in JSON Lines.
void write_object(const FrameBox& box, Size frame, std::string& out);

/// The image and category that a COCO result refers to.
struct CocoSubject {
  int64_t image = 0, category = 0;
  Size frame;  // size of the picture, for run lengths
};
/// Writes a single COCO result, without separators.
void write_coco_result(const CocoSubject& of, const FrameBox& box, std::string& out);

/// @param ids of the stream.
void write_mot(const FrameInfo& frame, std::span<const FrameBox> boxes, MotIds& ids,
               std::string& out);
void write_kitti(std::span<const FrameBox> boxes, std::string& out);

inline constexpr std::string_view kCsvHeader =
    "frame,timestamp,label,class_id,score,x1,y1,x2,y2,tracking_id,model,angle\n";
void write_csv(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& out);

/// Appends the lines of an image to the text of each class, by its word.
void write_dota(const std::string& image, std::span<const FrameBox> boxes, ClassWords& words,
                std::map<std::string, std::string>& by_class);

}  // namespace keepbox
