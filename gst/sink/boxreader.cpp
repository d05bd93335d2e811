// SPDX-License-Identifier: LGPL-2.1-or-later
// Tells models apart, and notices streams without analytics.
#include "gst/sink/boxreader.h"

#include <string>

namespace keepbox {

std::span<const FrameBox> BoxReader::read(GstBuffer* buffer, Size frame) {
  analysed_ |= read_boxes(buffer, boxes_, &keypoints_, frame);
  skipped_ = SkippedModels(buffer);
  for (const FrameBox& box : boxes_) models_.insert(box.model);
  if (models_.size() > 1)
    for (FrameBox& box : boxes_) box.unnamed = false;
  ++frames_;
  return boxes_;
}

std::optional<Error> BoxReader::missing_meta_warning(const char* element) const {
  if (frames_ == 0 || analysed_) return std::nullopt;
  return problem(ErrorKind::kMismatch,
                 "None of " + std::to_string(frames_) + " frames had GstAnalyticsRelationMeta",
                 std::string("put a decoder such as boxdecode before ") + element);
}

}  // namespace keepbox
