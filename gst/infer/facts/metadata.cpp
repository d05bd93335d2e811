// SPDX-License-Identifier: LGPL-2.1-or-later
// Metadata of a model file, with texts of Python and JSON.
#include "gst/infer/facts/metadata.h"

#include <glib.h>

#include <algorithm>
#include <charconv>

#include "core/base/text.h"
#include "core/formula/box.h"
#include "core/model/classnames.h"
#include "gst/tensors/provenance.h"

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

namespace {

constexpr int kDeepestNesting = 16;
constexpr size_t kMaxValues = 65536;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return g_ascii_isalnum(c) || c == '_'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<PyValue> run() {
    PyValue value;
    skip();
    if (!read_value(value, 0)) return wrong();
    skip();
    if (at_ != text_.size()) return wrong();
    return value;
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void skip() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").contains(text_[at_])) ++at_;
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::unexpected<Error> wrong() const {
    return fail(ErrorKind::kInvalid, "a Python literal",
                in_quotes(text_.substr(std::min(at_, text_.size()))) + " at byte " +
                    std::to_string(at_) + " of " + in_quotes(text_));
  }

  bool read_value(PyValue& out, int level) {
    if (level > kDeepestNesting || ++values_ > kMaxValues) return false;
    const char c = peek();
    if (c == '{') return read_dict(out, level);
    if (c == '[') return read_list(out, level, ']');
    if (c == '(') return read_list(out, level, ')');
    if (c == '\'' || c == '"') return read_strings(out);
    if (is_digit(c) || c == '-' || c == '+' || c == '.') return read_number(out);
    return read_word(out);
  }

  bool read_word(PyValue& out) {
    size_t end = at_;
    while (end < text_.size() && is_letter(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (word != "None" && word != "True" && word != "False") return false;
    at_ = end;
    out.kind = word == "None" ? PyValue::Kind::kNone : PyValue::Kind::kBool;
    out.whole = word == "True" ? 1 : 0;
    return true;
  }

  bool read_number(PyValue& out) {
    size_t start = at_, end = at_;
    while (end < text_.size() &&
           (is_letter(text_[end]) || text_[end] == '.' || text_[end] == '+' || text_[end] == '-'))
      ++end;
    if (text_[start] == '+') ++start;
    const std::string_view word = text_.substr(start, end - start);
    if (word.find_first_of("iInN") != word.npos) return false;  // from_chars takes inf and nan
    out.kind = word.find_first_of(".eE") == word.npos ? PyValue::Kind::kInt : PyValue::Kind::kFloat;
    const bool good =
        out.kind == PyValue::Kind::kInt ? parse(word, out.whole) : parse_finite(word, out.real);
    if (good) at_ = end;
    return good;
  }

  bool read_list(PyValue& out, int level, char close) {
    out.kind = PyValue::Kind::kList;
    ++at_;
    bool comma = false;
    for (skip(); !take(close); skip()) {
      if (!out.items.empty() && !comma) return false;
      if (!read_value(out.items.emplace_back(), level + 1)) return false;
      skip();
      comma = take(',');
    }
    // Brackets around one value without a comma are not a tuple.
    if (close == ')' && out.items.size() == 1 && !comma) {
      PyValue only = std::move(out.items.front());
      out = std::move(only);
    }
    return true;
  }

  bool read_dict(PyValue& out, int level) {
    out.kind = PyValue::Kind::kDict;
    ++at_;
    bool comma = false;
    for (skip(); !take('}'); skip()) {
      if (!out.items.empty() && !comma) return false;
      if (!read_value(out.items.emplace_back(), level + 1)) return false;
      skip();
      if (!take(':')) return false;
      skip();
      if (!read_value(out.items.emplace_back(), level + 1)) return false;
      skip();
      comma = take(',');
    }
    return true;
  }

  /// Reads a string, or several adjacent strings, which Python concatenates.
  bool read_strings(PyValue& out) {
    out.kind = PyValue::Kind::kString;
    while (peek() == '\'' || peek() == '"') {
      if (!read_string(out.text)) return false;
      skip();
    }
    return true;
  }

  bool read_string(std::string& out) {
    const char quote = text_[at_++];
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == quote) return true;
      if (c == '\n' || c == '\0') return false;
      if (c != '\\') out += c;
      else if (!read_escape(out)) return false;
    }
    return false;
  }

  bool read_escape(std::string& out) {
    constexpr std::string_view kNames = "abfnrtv\\'\"", kMeanings = "\a\b\f\n\r\t\v\\'\"";
    const char c = peek();
    if (const size_t index = kNames.find(c); c != '\0' && index != kNames.npos) {
      out += kMeanings[index];
      ++at_;
      return true;
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0 || at_ + 1 + digits > text_.size()) return false;
    const std::string_view number = text_.substr(at_ + 1, digits);
    uint32_t code = 0;
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), code, 16);
    if (error != std::errc{} || end != number.data() + number.size()) return false;
    at_ += 1 + digits;
    if (c == 'u' && !read_second_half(code)) return false;
    if (code == 0 || !g_unichar_validate(code)) return false;
    char bytes[6];
    out.append(bytes, static_cast<size_t>(g_unichar_to_utf8(code, bytes)));
    return true;
  }

  /// Joins the two halves of a character that JSON writes as two escapes of UTF-16.
  bool read_second_half(uint32_t& code) {
    constexpr uint32_t kFirst = 0xd800, kSecond = 0xdc00, kHalves = 0x400, kOffset = 0x10000;
    if (code < kFirst || code >= kSecond) return true;
    const std::string_view rest = text_.substr(at_, 6);
    uint32_t second = 0;
    if (!rest.starts_with("\\u") || rest.size() < 6) return false;
    const auto [end, error] = std::from_chars(rest.data() + 2, rest.data() + 6, second, 16);
    if (error != std::errc{} || end != rest.data() + 6) return false;
    if (second < kSecond || second >= kSecond + kHalves) return false;
    code = kOffset + (code - kFirst) * kHalves + (second - kSecond);
    at_ += rest.size();
    return true;
  }

  std::string_view text_;
  size_t at_ = 0, values_ = 0;
};

}  // namespace

const PyValue* PyValue::get(std::string_view key) const {
  const PyValue* found = nullptr;
  if (kind == Kind::kDict)
    for (size_t i = 0; i + 1 < items.size(); i += 2)
      if (items[i].kind == Kind::kString && items[i].text == key) found = &items[i + 1];
  return found;
}

Result<PyValue> parse_python(std::string_view text) { return Parser(text).run(); }

}  // namespace keepbox
