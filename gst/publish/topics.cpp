// SPDX-License-Identifier: LGPL-2.1-or-later
// Splits topics at their placeholders.
#include "gst/publish/topics.h"

#include <glib.h>

#include <algorithm>
#include <utility>

namespace keepbox {
namespace {

constexpr size_t kLongestValue = 1024;  // bytes of a value

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string TopicValues::* value_of(std::string_view name) {
  if (name == "source") return &TopicValues::source;
  if (name == "class") return &TopicValues::label;
  if (name == "model") return &TopicValues::model;
  return name == "id" ? &TopicValues::id : nullptr;
}

std::string as_level(std::string_view value) {
  g_autofree gchar* valid =
      g_utf8_make_valid(value.data(), static_cast<gssize>(std::min(value.size(), kLongestValue)));
  std::string out = valid;
  for (char& c : out)
    if (c == '/' || c == '+' || c == '#' || is_control(c)) c = '_';
  return out.empty() ? "_" : out;
}

}  // namespace

Result<TopicPattern> TopicPattern::parse(const std::string& text, const char* property) {
  const auto wrong = [&] {
    return reject(ErrorKind::kInvalid,
                  std::string(property) + "=" + text +
                      " is not a topic: it may have {source}, "
                      "{class}, {model} and {id}, but not + and #",
                  "set " + std::string(property) + "= to one such as keepbox/{source}/boxes");
  };
  if (std::ranges::any_of(text, [](char c) { return c == '+' || c == '#' || is_control(c); }) ||
      g_utf8_validate(text.data(), static_cast<gssize>(text.size()), nullptr) == FALSE)
    return wrong();
  TopicPattern out;
  for (std::string_view rest = text; !rest.empty();) {
    Part part;
    const size_t open = std::min(rest.find('{'), rest.size());
    part.text = rest.substr(0, open);
    rest.remove_prefix(open);
    if (!rest.empty()) {
      const size_t end = rest.find('}');
      if (end == rest.npos) return wrong();
      part.value = value_of(rest.substr(1, end - 1));
      if (part.value == nullptr) return wrong();
      rest.remove_prefix(end + 1);
    }
    out.parts_.push_back(std::move(part));
  }
  return out;
}

std::string TopicPattern::of(const TopicValues& values) const {
  std::string out;
  for (const Part& part : parts_) {
    out += part.text;
    if (part.value != nullptr) out += as_level(values.*part.value);
  }
  return out;
}

}  // namespace keepbox
