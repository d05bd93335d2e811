// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes boxes of frames in a format, and the formats of rows.
#include "gst/sink/writer.h"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <iterator>
#include <utility>

#include "gst/base/error.h"
#include "gst/sink/classes.h"

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

namespace {

constexpr int kUnknownOther = -1;     // KITTI and MOT
constexpr int kUnknownAngle = -10;    // KITTI
constexpr int kUnknownPlace = -1000;  // KITTI

template <class Number>
  requires std::integral<Number> || std::floating_point<Number>
void append(std::string& out, Number value) {
  char digits[64];
  out.append(digits, std::to_chars(digits, std::end(digits), value).ptr);
}

void append(std::string& out, std::string_view text) { out += text; }

template <class T>
void append(std::string& out, const std::optional<T>& value) {
  if (value) append(out, *value);
}

template <class First, class... Rest>
void append_row(std::string& out, char separator, const First& first, const Rest&... rest) {
  append(out, first);
  ((out += separator, append(out, rest)), ...);
  out += '\n';
}

/// Returns a box's label, or "class-3" with the model's name if it has none.
std::string class_name(const FrameBox& box) {
  if (std::string type = name_of(box.label); !type.empty()) return type;
  if (!box.class_id) return "unknown";
  const std::string type = "class-" + std::to_string(*box.class_id);
  const std::string model = shown_model(box);
  return model.empty() ? type : model + '-' + type;
}

/// Quotes a field as in RFC 4180 if it contains a quote, a comma or a line break.
std::string quoted(std::string text) {
  if (text.find_first_of("\",\r\n") == text.npos) return text;
  for (size_t at = 0; (at = text.find('"', at)) != text.npos; at += 2) text.insert(at, 1, '"');
  return '"' + text + '"';
}

}  // namespace

void write_mot(const FrameInfo& frame, std::span<const FrameBox> boxes, MotIds& ids,
               std::string& out) {
  ids.start_frame();
  for (const FrameBox& box : boxes) {
    const auto object = key_of(box);
    if (frame.tracked && !object) continue;
    const std::string id = object ? std::to_string(ids.of(*object)) : "-1";
    const Box at = enclosing(box);
    append_row(out, ',', frame.number, id, at.x1, at.y1, width_of(at), height_of(at), box.score,
               kUnknownOther, kUnknownOther, kUnknownOther);
  }
}

void write_kitti(std::span<const FrameBox> boxes, std::string& out) {
  for (const FrameBox& box : boxes) {
    const Box at = enclosing(box);
    append_row(out, ' ', as_word(class_name(box)), kUnknownOther, kUnknownOther, kUnknownAngle,
               at.x1, at.y1, at.x2, at.y2, kUnknownOther, kUnknownOther, kUnknownOther,
               kUnknownPlace, kUnknownPlace, kUnknownPlace, kUnknownAngle, box.score);
  }
}

void write_csv(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& out) {
  for (const FrameBox& box : boxes)
    append_row(out, ',', frame.number, frame.timestamp, quoted(name_of(box.label)), box.class_id,
               box.score, box.box.x1, box.box.y1, box.box.x2, box.box.y2, box.tracking_id,
               quoted(shown_model(box)), box.angle);
}

void write_dota(const std::string& image, std::span<const FrameBox> boxes, ClassWords& words,
                std::map<std::string, std::string>& by_class) {
  for (const FrameBox& box : boxes) {
    const auto [a, b, c, d] = corners_of(box);
    append_row(by_class[words.of(class_name(box))], ' ', image, box.score, a.x, a.y, b.x, b.y, c.x,
               c.y, d.x, d.y);
  }
}

}  // namespace keepbox
