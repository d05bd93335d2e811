// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the metadata written by Ultralytics, its predecessors and LibreYOLO.
#include "gst/infer/facts/metadata.h"

#include <glib.h>

#include <algorithm>
#include <optional>

#include "core/formula/box.h"
#include "gst/base/words.h"
#include "gst/infer/facts/pydict.h"
#include "gst/tensors/tensorsource.h"

namespace keepbox {
namespace {

using Kind = PyValue::Kind;
using Map = std::map<std::string, std::string>;

constexpr int64_t kMaxValue = 65535;  // limit of sides, strides and keypoint counts

bool is_size(const PyValue& value) {
  return value.kind == Kind::kInt && value.whole > 0 && value.whole <= kMaxValue;
}

/// Returns the literal of a key; std::nullopt if it is missing, or malformed, which adds a remark.
std::optional<PyValue> literal(const Map& map, const char* key, ModelMetadata& out) {
  const auto found = map.find(key);
  if (found == map.end()) return std::nullopt;
  auto value = parse_python(found->second);
  if (value) return std::move(*value);
  out.remarks.push_back(std::string("metadata ") + key + " ignored: " + value.error().message());
  return std::nullopt;
}

void leave_out(const Map& map, const char* key, const std::string& expected, ModelMetadata& out) {
  out.remarks.push_back(std::string("metadata ") + key + " ignored: expected " + expected +
                        ", found " + in_quotes(map.at(key)));
}

/// Returns the text of a label; nullptr if GLib cannot represent it.
const std::string* label(const PyValue& value) {
  const std::string& text = value.text;
  const bool good = value.kind == Kind::kString &&
                    g_utf8_validate(text.data(), static_cast<gssize>(text.size()), nullptr);
  return good ? &text : nullptr;
}

/// Returns the number of a class that is a key: an integer, or its digits in quotes as in JSON.
std::optional<int64_t> class_of(const PyValue& key) {
  if (key.kind == Kind::kInt) return key.whole;
  int64_t number = 0;
  if (key.kind == Kind::kString && parse(key.text, number)) return number;
  return std::nullopt;
}

/// Returns names by class from a list, or from a dict with numbers as keys; std::nullopt for
/// anything else.
std::optional<std::vector<std::string>> names_of(const PyValue& value) {
  if (value.kind != Kind::kList && value.kind != Kind::kDict) return std::nullopt;
  const size_t step = value.kind == Kind::kDict ? 2 : 1;
  std::vector<std::string> names;
  for (size_t i = 0; i + step <= value.items.size(); i += step) {
    const std::string* name = label(value.items[i + step - 1]);
    if (name == nullptr) return std::nullopt;
    const auto index = step == 2 ? class_of(value.items[i]) : static_cast<int64_t>(i);
    if (!index || *index < 0 || *index >= int64_t{kMaxClasses}) return std::nullopt;
    const auto place = static_cast<size_t>(*index);
    names.resize(std::max(names.size(), place + 1));
    names[place] = *name;
  }
  if (names.empty()) return std::nullopt;
  return names;
}

void read_names(const Map& map, ModelMetadata& out) {
  const auto value = literal(map, "names", out);
  if (!value) return;
  auto names = names_of(*value);
  if (names) out.labels = std::move(*names);
  else leave_out(map, "names", "names of up to " + std::to_string(kMaxClasses) + " classes", out);
}

/// Reads the names of each output's classes from keys such as "names.color".
void read_names_of_outputs(const Map& map, ModelMetadata& out) {
  constexpr std::string_view kPrefix = "names.";
  for (auto at = map.lower_bound(std::string(kPrefix));
       at != map.end() && at->first.starts_with(kPrefix); ++at) {
    const auto value = literal(map, at->first.c_str(), out);
    auto names = value ? names_of(*value) : std::nullopt;
    if (names) out.labels_of[at->first.substr(kPrefix.size())] = std::move(*names);
    else if (value) leave_out(map, at->first.c_str(), "names of classes", out);
  }
}

void read_size(const Map& map, ModelMetadata& out) {
  const auto value = literal(map, "imgsz", out);
  if (!value) return;
  const auto side = [](const PyValue& of) { return static_cast<uint32_t>(of.whole); };
  const auto& items = value->items;
  if (is_size(*value)) out.size = {side(*value), side(*value)};
  else if (value->kind == Kind::kList && items.size() == 1 && is_size(items[0]))
    out.size = {side(items[0]), side(items[0])};
  else if (value->kind == Kind::kList && items.size() == 2 && is_size(items[0]) &&
           is_size(items[1]))
    out.size = {side(items[1]), side(items[0])};
  else leave_out(map, "imgsz", "[height, width]", out);
}

void read_stride(const Map& map, ModelMetadata& out) {
  const auto value = literal(map, "stride", out);
  if (!value) return;
  if (is_size(*value)) out.stride = static_cast<uint32_t>(value->whole);
  else if (value->kind == Kind::kFloat && value->real >= 1 && value->real <= kMaxValue)
    out.stride = static_cast<uint32_t>(value->real);
  else leave_out(map, "stride", "a number of pixels", out);
}

void read_keypoints(const Map& map, ModelMetadata& out) {
  const auto value = literal(map, "kpt_shape", out);
  if (!value) return;
  const auto& items = value->items;
  if (value->kind == Kind::kList && items.size() == 2 && is_size(items[0]) && is_size(items[1]) &&
      items[1].whole <= 3)
    out.keypoint_numbers = static_cast<uint32_t>(items[0].whole * items[1].whole);
  else leave_out(map, "kpt_shape", "[keypoints, 2 or 3]", out);
}

/// Reads names, one per line, as written by PaddleOCR's tools and derivatives.
void read_characters(const Map& map, ModelMetadata& out) {
  const auto found = map.find("character");
  if (found == map.end() || !out.labels.empty()) return;
  const auto lines = lines_of(found->second);
  const bool good = lines.size() > 1 && lines.size() <= kMaxLabels &&
                    g_utf8_validate(found->second.c_str(), -1, nullptr);
  if (!good) return leave_out(map, "character", "one name per line", out);
  for (const std::string_view line : lines) out.labels.emplace_back(line);
  while (!out.labels.empty() && out.labels.back().empty()) out.labels.pop_back();
}

std::string text_of(const Map& map, const char* key) {
  const auto found = map.find(key);
  return found == map.end() ? "" : found->second;
}

/// Reads LibreYOLO's sides of the input and the place of the picture in it.
void read_libre_yolo(const Map& map, ModelMetadata& out) {
  out.head = text_of(map, "model_family");
  const auto side = [&](const char* key) {
    const auto value = literal(map, key, out);
    return value && is_size(*value) ? static_cast<uint32_t>(value->whole) : 0;
  };
  const Size size{side("imgsz_w"), side("imgsz_h")};
  if (size.width != 0 && size.height != 0) out.size = size;
  const std::string pad = text_of(map, "letterbox_pad");
  if (pad == "center") out.resize = ResizeMode::kLetterboxCenter;
  else if (pad == "topleft") out.resize = ResizeMode::kLetterboxTopLeft;
  else if (!pad.empty()) leave_out(map, "letterbox_pad", "center or topleft", out);
}

bool is_true(const PyValue* value) {
  return value != nullptr && value->kind == Kind::kBool && value->whole != 0;
}

}  // namespace

ModelMetadata read_metadata(const Map& map) {
  ModelMetadata out;
  const bool names = map.contains("names"), stride = map.contains("stride");
  read_names(map, out);
  read_characters(map, out);
  read_names_of_outputs(map, out);
  if (map.contains("libreyolo_version")) out.exporter = Exporter::kLibreYolo;
  else if (map.contains("task") && (names || stride)) out.exporter = Exporter::kUltralytics;
  else if (names && stride) out.exporter = Exporter::kYolov5;
  if (out.exporter == Exporter::kUnknown) return out;
  out.task = text_of(map, "task");
  out.description = text_of(map, "description");
  out.head = text_of(map, "head");
  read_size(map, out);
  if (out.exporter == Exporter::kLibreYolo) {
    read_libre_yolo(map, out);
    return out;
  }
  read_stride(map, out);
  read_keypoints(map, out);
  const auto end_to_end = literal(map, "end2end", out);
  const auto args = literal(map, "args", out);
  out.sorted = is_true(end_to_end ? &*end_to_end : nullptr) ||
               is_true(args ? args->get("nms") : nullptr) ||
               is_true(args ? args->get("end2end") : nullptr);
  return out;
}

}  // namespace keepbox
