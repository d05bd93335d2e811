// SPDX-License-Identifier: LGPL-2.1-or-later
// Formats with one row per box: MOTChallenge, KITTI, CSV and DOTA.
#include <algorithm>
#include <charconv>
#include <concepts>

#include "gst/sink/formats.h"
#include "gst/sink/oriented.h"
#include "gst/sink/text.h"

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
