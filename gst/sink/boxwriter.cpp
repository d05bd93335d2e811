// SPDX-License-Identifier: LGPL-2.1-or-later
// One function for each format of detections.
#include "gst/sink/boxwriter.h"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <nlohmann/json.hpp>

#include "gst/base/error.h"

namespace keepbox {
namespace {

// Numbers of this type are floats, so that they print with a float's digits and not a double's.
using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, int64_t,
                                  uint64_t, float>;

constexpr int kUnknown = -1;          // KITTI and MOT
constexpr int kUnknownAngle = -10;    // KITTI
constexpr int kUnknownPlace = -1000;  // KITTI

std::string utf8(std::string_view text) {
  g_autofree gchar* valid = g_utf8_make_valid(text.data(), static_cast<gssize>(text.size()));
  return valid;
}

std::string label_of(const FrameBox& box) {
  return box.label == 0 ? std::string() : utf8(g_quark_to_string(box.label));
}

float width_of(const Box& b) { return b.x2 - b.x1; }
float height_of(const Box& b) { return b.y2 - b.y1; }

/// A string that throws nothing on bytes that are not UTF-8.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json detection_of(const FrameBox& box, const std::string& label, Size frame) {
  const auto width = static_cast<float>(frame.width), height = static_cast<float>(frame.height);
  Json out;
  out["bounding_box"] = {{"x_min", box.box.x1 / width},
                         {"x_max", box.box.x2 / width},
                         {"y_min", box.box.y1 / height},
                         {"y_max", box.box.y2 / height}};
  out["confidence"] = box.score;
  if (box.class_id) out["label_id"] = *box.class_id;
  if (!label.empty()) out["label"] = label;
  return out;
}

Json object_of(const FrameBox& box, Size frame) {
  const std::string label = label_of(box);
  Json out = {{"x", box.box.x1},
              {"y", box.box.y1},
              {"w", width_of(box.box)},
              {"h", height_of(box.box)},
              {"region_id", box.od_id}};
  if (box.tracking_id) out["id"] = *box.tracking_id;
  if (!label.empty()) out["roi_type"] = label;
  out["detection"] = detection_of(box, label, frame);
  if (box.anchor) out["anchor"] = *box.anchor;
  if (box.angle != 0) out["rotation"] = box.angle;
  return out;
}

void write_jsonl(const FrameInfo& frame, std::span<const FrameBox> boxes, const std::string& source,
                 std::string& out) {
  Json line;
  line["resolution"] = {{"width", frame.size.width}, {"height", frame.size.height}};
  if (!source.empty()) line["source"] = source;
  if (frame.timestamp) line["timestamp"] = *frame.timestamp;
  line["frame"] = frame.number;
  Json& objects = line["objects"] = Json::array();
  for (const FrameBox& box : boxes) objects.push_back(object_of(box, frame.size));
  out += dump(line) + '\n';
}

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

void write_mot(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& out) {
  for (const FrameBox& box : boxes) {
    const std::string id = box.tracking_id ? std::to_string(*box.tracking_id) : "-1";
    append_row(out, ',', frame.number, id, box.box.x1, box.box.y1, width_of(box.box),
               height_of(box.box), box.score, kUnknown, kUnknown, kUnknown);
  }
}

/// One word: columns are told apart by spaces.
std::string kitti_type(const FrameBox& box) {
  std::string type = label_of(box);
  if (type.empty()) type = box.class_id ? "class-" + std::to_string(*box.class_id) : "unknown";
  std::ranges::replace_if(type, [](char c) { return g_ascii_isspace(c) || c == '\v'; }, '_');
  return type;
}

void write_kitti(std::span<const FrameBox> boxes, std::string& out) {
  for (const FrameBox& box : boxes)
    append_row(out, ' ', kitti_type(box), kUnknown, kUnknown, kUnknownAngle, box.box.x1, box.box.y1,
               box.box.x2, box.box.y2, kUnknown, kUnknown, kUnknown, kUnknownPlace, kUnknownPlace,
               kUnknownPlace, kUnknownAngle, box.score);
}

/// RFC 4180: quoted where it holds a quote, a comma or a line break.
std::string quoted(std::string text) {
  if (text.find_first_of("\",\r\n") == text.npos) return text;
  for (size_t at = 0; (at = text.find('"', at)) != text.npos; at += 2) text.insert(at, 1, '"');
  return '"' + text + '"';
}

void write_csv(const FrameInfo& frame, std::span<const FrameBox> boxes, std::string& out) {
  for (const FrameBox& box : boxes)
    append_row(out, ',', frame.number, frame.timestamp, quoted(label_of(box)), box.class_id,
               box.score, box.box.x1, box.box.y1, box.box.x2, box.box.y2, box.tracking_id);
}

Result<CocoId> parse_id(std::string_view line) {
  CocoId out;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), out.id);
  std::string_view name(end, line.data() + line.size());
  if (error != std::errc{} || (!name.empty() && !g_ascii_isspace(name.front())))
    return file_error("a whole number first", '"' + utf8(line) + '"', {});
  const size_t first = name.find_first_not_of(" \t\r");
  if (first != name.npos) out.name = name.substr(first, name.find_last_not_of(" \t\r") - first + 1);
  return out;
}

}  // namespace

Result<std::vector<CocoId>> load_coco_ids(const char* path, const char* property) {
  const std::string hint = std::string("set ") + property +
                           "= to a text file with one number a line, and a name after it if needed";
  g_autofree gchar* data = nullptr;
  gsize size = 0;
  g_autoptr(GError) error = nullptr;
  if (!g_file_get_contents(path, &data, &size, &error))
    return file_error("a readable file of ids", error->message, hint);
  std::string_view text(data, size);
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  std::vector<CocoId> ids;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    auto id = parse_id(line);
    if (!id)
      return file_error(id.error().expected + " in line " + std::to_string(ids.size() + 1) +
                            " of " + path, id.error().found, hint);
    ids.push_back(std::move(*id));
  }
  if (ids.empty()) return file_error("ids in " + std::string(path), "an empty file", hint);
  return ids;
}

std::string_view BoxWriter::head() const {
  if (format_ == BoxFormat::kCoco) return "[";
  if (format_ == BoxFormat::kCsv)
    return "frame,timestamp,label,class_id,score,x1,y1,x2,y2,tracking_id\n";
  return {};
}

std::string_view BoxWriter::tail() const {
  if (format_ != BoxFormat::kCoco) return {};
  return results_ == 0 ? "]\n" : "\n]\n";
}

Status BoxWriter::write(const FrameInfo& frame, std::span<const FrameBox> boxes,
                        std::string& out) {
  switch (format_) {
    case BoxFormat::kJsonl:
      if (!boxes.empty() || options_.write_empty) write_jsonl(frame, boxes, options_.source, out);
      break;
    case BoxFormat::kCoco: KB_TRY(write_coco(frame, boxes, out)); break;
    case BoxFormat::kMot: write_mot(frame, boxes, out); break;
    case BoxFormat::kKitti: write_kitti(boxes, out); break;
    case BoxFormat::kCsv: write_csv(frame, boxes, out); break;
  }
  ++frames_;
  return {};
}

Status BoxWriter::write_coco(const FrameInfo& frame, std::span<const FrameBox> boxes,
                             std::string& out) {
  const Result<int64_t> image = image_id(frame);
  if (!image) return std::unexpected(image.error());
  for (const FrameBox& box : boxes) {
    const Result<int64_t> category = category_id(box);
    if (!category) return std::unexpected(category.error());
    const Json result = {
        {"image_id", *image},
        {"category_id", *category},
        {"bbox", {box.box.x1, box.box.y1, width_of(box.box), height_of(box.box)}},
        {"score", box.score}};
    out += (results_++ == 0 ? "\n" : ",\n") + dump(result);
  }
  return {};
}

Result<int64_t> BoxWriter::image_id(const FrameInfo& frame) const {
  if (options_.images.empty()) return frame.number;
  if (frames_ < options_.images.size()) return options_.images[frames_].id;
  return file_error("at most " + std::to_string(options_.images.size()) + " frames",
                    "one more", "image-ids= needs a line for every frame");
}

Result<int64_t> BoxWriter::category_id(const FrameBox& box) {
  const std::vector<CocoId>& given = options_.categories;
  if (given.empty() && box.class_id) return *box.class_id;
  if (given.empty()) {
    const auto found = std::ranges::find(numbered_, box.label);
    const int64_t number = found - numbered_.begin() + 1;
    if (found == numbered_.end()) numbered_.push_back(box.label);
    return number;
  }
  if (box.class_id && *box.class_id < given.size()) return given[*box.class_id].id;
  const std::string label = label_of(box);
  const auto found = std::ranges::find(given, label, &CocoId::name);
  if (!box.class_id && !label.empty() && found != given.end()) return found->id;
  if (box.class_id)
    return file_error("a class below " + std::to_string(given.size()),
                      "class " + std::to_string(*box.class_id),
                      "category-ids= needs a line for every class");
  return file_error("a label that category-ids= names", '"' + label + '"',
                    "write the label after its number: this decoder gives no class numbers");
}

}  // namespace keepbox
