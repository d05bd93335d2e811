// SPDX-License-Identifier: LGPL-2.1-or-later
// Recursive descent parser for Python literals.
#include "gst/infer/facts/pydict.h"

#include <glib.h>

#include <algorithm>
#include <charconv>

#include "gst/base/words.h"

namespace keepbox {
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
