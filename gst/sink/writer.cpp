// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes boxes of frames in a format, and the formats of rows.
#include "gst/sink/writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <iterator>
#include <utility>

#include "core/formula/oriented.h"
#include "gst/base/error.h"
#include "gst/sink/classes.h"

namespace keepbox {
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

std::unexpected<Error> too_few(size_t images) {
  return file_error("There are more frames than the " + std::to_string(images) + " of image-ids=",
                    "add a line per frame to the file of image-ids=");
}

class JsonLines : public FrameWriter {
 public:
  explicit JsonLines(WriterOptions options) : options_(std::move(options)) {}

  Status write(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& out) override {
    if (!boxes.empty() || frame.labels.size() != 0 || options_.write_empty)
      write_jsonl(frame, boxes, options_, out);
    return {};
  }

 private:
  WriterOptions options_;
};

class Coco : public FrameWriter {
 public:
  explicit Coco(WriterOptions options)
      : images_(std::move(options.images)), categories_(std::move(options.categories)) {}

  Status write(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& out) override {
    if (!images_.empty() && frames_ >= images_.size()) return too_few(images_.size());
    const int64_t image = images_.empty() ? frame.number : images_[frames_].id;
    for (const FrameBox& box : boxes) {
      KB_ASSIGN(const auto category, categories_.of(box));
      out += ",\n";
      write_coco_result({image, category, frame.size}, box, out);
    }
    ++frames_;
    return {};
  }
  void take_messages(CategoryMessages& out) override { out = categories_.take_messages(); }

 private:
  std::vector<CocoId> images_;
  CategoryIds categories_;
  size_t frames_ = 0;  // written so far
};

class Mot : public FrameWriter {
 public:
  explicit Mot(WriterOptions) {}

  Status write(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& out) override {
    ids_.start_frame();
    for (const FrameBox& box : boxes) {
      const auto object = key_of(box);
      if (frame.tracked && !object) continue;
      const std::string id = object ? std::to_string(ids_.of(*object)) : "-1";
      const Box at = around({box.box, box.angle});
      append_row(out, ',', frame.number, id, at.x1, at.y1, width_of(at), height_of(at), box.score,
                 kUnknownOther, kUnknownOther, kUnknownOther);
    }
    return {};
  }
  void take_messages(CategoryMessages& out) override {
    if (auto raised = ids_.take_warning()) out.wrong.push_back(*std::move(raised));
  }

 private:
  MotIds ids_;
};

class Kitti : public FrameWriter {
 public:
  explicit Kitti(WriterOptions) {}

  Status write(const FrameInfo&, std::span<const FrameBox> boxes, std::string& out) override {
    for (const FrameBox& box : boxes) {
      const Box at = around({box.box, box.angle});
      append_row(out, ' ', as_word(class_name(box)), kUnknownOther, kUnknownOther, kUnknownAngle,
                 at.x1, at.y1, at.x2, at.y2, kUnknownOther, kUnknownOther, kUnknownOther,
                 kUnknownPlace, kUnknownPlace, kUnknownPlace, kUnknownAngle, box.score);
    }
    return {};
  }
};

class Csv : public FrameWriter {
 public:
  explicit Csv(WriterOptions) {}

  Status write(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& out) override {
    for (const FrameBox& box : boxes)
      append_row(out, ',', frame.number, frame.timestamp, quoted(name_of(box.label)), box.class_id,
                 box.score, box.box.x1, box.box.y1, box.box.x2, box.box.y2, box.tracking_id,
                 quoted(shown_model(box)), box.angle);
    return {};
  }
};

class Dota : public FrameWriter {
 public:
  explicit Dota(WriterOptions options) : names_(std::move(options.names)) {}

  Status write(const FrameInfo&, std::span<const FrameBox>, std::string&) override { return {}; }
  Status write_classes(const FrameInfo& frame, std::span<const FrameBox> boxes,
                       std::map<std::string, std::string>& by_class) override {
    if (!names_.empty() && frames_ >= names_.size()) return too_few(names_.size());
    const std::string image = names_.empty() ? std::to_string(frame.number) : names_[frames_];
    for (const FrameBox& box : boxes) {
      std::array<float, 8> at{};
      for (size_t i = 0; const auto [x, y] : corners_of({box.box, box.angle}).at)
        at[i++] = static_cast<float>(x), at[i++] = static_cast<float>(y);
      append_row(by_class[words_.of(class_name(box))], ' ', image, box.score, at[0], at[1], at[2],
                 at[3], at[4], at[5], at[6], at[7]);
    }
    ++frames_;
    return {};
  }
  void take_messages(CategoryMessages& out) override { out.wrong = words_.take_warnings(); }

 private:
  std::vector<std::string> names_;  // of images
  ClassWords words_;
  size_t frames_ = 0;  // written so far
};

class EventLines : public FrameWriter {
 public:
  explicit EventLines(WriterOptions options) : options_(std::move(options)) {}

  Status write(const FrameInfo& frame, std::span<const FrameBox>, std::string& out) override {
    if (frame.counts == nullptr) return {};
    for (const CountNote& note : frame.counts->notes) write_event(note, frame, options_, out);
    return {};
  }

 private:
  WriterOptions options_;
};

class EventRows : public FrameWriter {
 public:
  explicit EventRows(WriterOptions) {}

  Status write(const FrameInfo& frame, std::span<const FrameBox>, std::string& out) override {
    if (frame.counts == nullptr) return {};
    for (const CountNote& note : frame.counts->notes) write_row(note, frame, out);
    return {};
  }

 private:
  static void write_row(const CountNote& note, const FrameInfo& frame, std::string& out) {
    using enum CountNote::Kind;
    const bool of_object = note.kind != kCrowded, of_line = !note.direction.empty();
    append_row(out, ',', note_time(note, frame), word_of(note.kind), quoted(note.name),
               quoted(note.direction), of_object ? std::optional(note.object.id) : std::nullopt,
               quoted(name_of(note.label)),
               quoted(note.unnamed ? std::string() : name_of(note.object.model)),
               note.kind == kLeft || note.kind == kDwelt ? std::optional(seconds_of(note.dwell))
                                                         : std::nullopt,
               of_line ? std::nullopt : std::optional(note.now));
  }
};

template <class Writer>
std::unique_ptr<FrameWriter> make(WriterOptions options) {
  return std::make_unique<Writer>(std::move(options));
}

const OutputFormat kFormats[] = {
    {.format = BoxFormat::kJsonl,
     .name = "jsonl",
     .blurb = "JSON Lines, one object per frame, in the schema of DL Streamer's gvametaconvert",
     .make = make<JsonLines>,
     .tensors = true},
    {.format = BoxFormat::kCoco,
     .name = "coco",
     .blurb = "JSON array of COCO results, for pycocotools",
     .make = make<Coco>,
     .head = "[",
     .separator = ",",
     .foot = "\n]\n",
     .images = OutputFormat::Images::kIds,
     .categories = true},
    {.format = BoxFormat::kMot,
     .name = "mot",
     .blurb = "MOTChallenge lines; frames are counted from 1, box pixels from 0. Boxes without an "
              "id have -1, or are omitted downstream of a tracker, because evaluators reject a "
              "frame that has an id twice",
     .make = make<Mot>,
     .first_frame = 1,
     .tracked = true},
    {.format = BoxFormat::kKitti,
     .name = "kitti",
     .blurb = "KITTI object results, one file per frame",
     .make = make<Kitti>,
     .files = FileSet::kPerFrame},
    {.format = BoxFormat::kCsv,
     .name = "csv",
     .blurb = "CSV with a header and one line per box. Names are written as in the model: "
              "spreadsheets may execute those that begin with =, +, - or @",
     .make = make<Csv>,
     .head = "frame,timestamp,label,class_id,score,x1,y1,x2,y2,tracking_id,model,angle\n"},
    {.format = BoxFormat::kDota,
     .name = "dota",
     .blurb = "DOTA task 1 results with the four corners of each box, one file per class",
     .make = make<Dota>,
     .files = FileSet::kPerClass,
     .images = OutputFormat::Images::kNames},
    {.format = BoxFormat::kEventsJsonl,
     .name = "events-jsonl",
     .blurb = "JSON Lines, one object per event of boxcount: crossed, uncertain, entered, left, "
              "dwelt, crowded",
     .make = make<EventLines>,
     .events = true},
    {.format = BoxFormat::kEventsCsv,
     .name = "events-csv",
     .blurb = "CSV with a header and one line per event of boxcount",
     .make = make<EventRows>,
     .head = "timestamp,event,name,direction,id,class,model,seconds,now\n",
     .events = true},
};

}  // namespace

std::optional<uint64_t> note_time(const CountNote& note, const FrameInfo& frame) {
  if (!frame.timestamp) return std::nullopt;
  return *frame.timestamp - std::min<uint64_t>(*frame.timestamp, note.ago);
}

std::span<const OutputFormat> output_formats() { return kFormats; }

const OutputFormat& output_format(BoxFormat format) {
  return *std::ranges::find(kFormats, format, &OutputFormat::format);
}

Status FrameWriter::write_classes(const FrameInfo&, std::span<const FrameBox>,
                                  std::map<std::string, std::string>&) {
  return {};
}

void FrameWriter::take_messages(CategoryMessages&) {}

BoxWriter::BoxWriter(BoxFormat format, WriterOptions options)
    : format_(&output_format(format)), writer_(format_->make(std::move(options))) {}

std::string_view BoxWriter::tail() const {
  const bool ends_result = format_->foot.starts_with('\n');
  return first_ && ends_result ? format_->foot.substr(1) : format_->foot;
}

Status BoxWriter::write(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& out) {
  const size_t begin = out.size();
  KB_TRY(writer_->write(frame, boxes, out));
  if (out.size() == begin || !std::exchange(first_, false)) return {};
  out.erase(begin, format_->separator.size());
  return {};
}

Status BoxWriter::write(const FrameInfo& frame, std::span<const FrameBox> boxes,
                        std::map<std::string, std::string>& by_class) {
  return writer_->write_classes(frame, boxes, by_class);
}

void BoxWriter::start_file(std::string& first) {
  if (first.starts_with(format_->separator)) first.erase(0, format_->separator.size());
  first_ = first.empty();
}

CategoryMessages BoxWriter::take_messages() {
  CategoryMessages out;
  writer_->take_messages(out);
  return out;
}

}  // namespace keepbox
