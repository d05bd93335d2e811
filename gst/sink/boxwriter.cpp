// SPDX-License-Identifier: LGPL-2.1-or-later
// State that the formats of detections keep between frames.
#include "gst/sink/boxwriter.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gst/base/error.h"
#include "gst/sink/formats.h"

namespace keepbox {
namespace {

std::unexpected<Error> too_few(size_t images) {
  return file_error("There are more frames than the " + std::to_string(images) + " of image-ids=",
                    "add a line per frame to the file of image-ids=");
}

}  // namespace

BoxWriter::BoxWriter(BoxFormat format, WriterOptions options)
    : format_(format),
      options_(std::move(options)),
      categories_(std::exchange(options_.categories, {})) {}

std::string_view BoxWriter::head() const {
  if (format_ == BoxFormat::kCoco) return "[";
  return format_ == BoxFormat::kCsv ? kCsvHeader : std::string_view();
}

std::string_view BoxWriter::tail() const {
  if (format_ != BoxFormat::kCoco) return {};
  return first_ ? "]\n" : "\n]\n";
}

Status BoxWriter::write(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& out) {
  switch (format_) {
    case BoxFormat::kJsonl:
      if (!boxes.empty() || frame.labels.size() != 0 || options_.write_empty)
        write_jsonl(frame, boxes, options_, out);
      break;
    case BoxFormat::kCoco: KB_TRY(write_coco(frame, boxes, out)); break;
    case BoxFormat::kMot: write_mot(frame, boxes, mot_ids_, out); break;
    case BoxFormat::kKitti: write_kitti(boxes, out); break;
    case BoxFormat::kCsv: write_csv(frame, boxes, out); break;
    case BoxFormat::kDota: break;
  }
  ++frames_;
  return {};
}

Status BoxWriter::write(const FrameInfo& frame, std::span<const FrameBox> boxes,
                        std::map<std::string, std::string>& by_class) {
  const auto& names = options_.names;
  if (!names.empty() && frames_ >= names.size()) return too_few(names.size());
  write_dota(names.empty() ? std::to_string(frame.number) : names[frames_], boxes, words_,
             by_class);
  ++frames_;
  return {};
}

void BoxWriter::start_file(std::string& first) {
  if (format_ == BoxFormat::kCoco && first.starts_with(',')) first.erase(0, 1);
  first_ = first.empty();
}

CategoryMessages BoxWriter::take_messages() {
  CategoryMessages out = categories_.take_messages();
  std::ranges::move(words_.take_warnings(), std::back_inserter(out.wrong));
  if (auto raised = mot_ids_.take_warning()) out.wrong.push_back(*std::move(raised));
  return out;
}

Status BoxWriter::write_coco(const FrameInfo& frame, std::span<const FrameBox> boxes,
                             std::string& out) {
  KB_ASSIGN(const auto image, image_id(frame));
  for (const FrameBox& box : boxes) {
    KB_ASSIGN(const auto category, categories_.of(box));
    out += std::exchange(first_, false) ? "\n" : ",\n";
    write_coco_result({image, category, frame.size}, box, out);
  }
  return {};
}

Result<int64_t> BoxWriter::image_id(const FrameInfo& frame) const {
  if (options_.images.empty()) return frame.number;
  if (frames_ < options_.images.size()) return options_.images[frames_].id;
  return too_few(options_.images.size());
}

}  // namespace keepbox
