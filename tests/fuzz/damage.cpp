// SPDX-License-Identifier: LGPL-2.1-or-later
// Damages texts by the bytes of an input.
#include "tests/fuzz/damage.h"

#include <glib.h>

#include <algorithm>

namespace keepbox::fuzz {
namespace {

constexpr size_t kLongest = 1 << 16;  // maximum bytes after repeating

void spoil(Input& input, std::string& text, std::span<const std::string_view> words) {
  const size_t at = input.below(static_cast<uint32_t>(text.size() + 1));
  switch (input.below(5)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(input.below(256));
      break;
    case 1: text.insert(at, input.pick(words)); break;
    case 2: text.erase(at, 1 + input.below(8)); break;
    case 3:
      if (input.chance(20)) text.resize(at);
      break;
    default: {
      const std::string part = text.substr(at, input.below(64));
      if (text.size() < kLongest)
        text.insert(input.below(static_cast<uint32_t>(text.size() + 1)), part);
    }
  }
}

}  // namespace

std::string damaged(Input& input, std::string text, std::span<const std::string_view> words) {
  for (uint32_t i = input.between(1, 5); i > 0; --i) spoil(input, text, words);
  return text;
}

std::string any_name(Input& input) {
  static constexpr std::string_view kNames[]{"person",
                                             "car",
                                             "traffic light",
                                             "",
                                             "a\"b",
                                             "a,b",
                                             "line\nbreak",
                                             "cr\rx",
                                             "crlf\r\n",
                                             "\xff\xfe",
                                             "\xc3",
                                             "\xed\xa0\x80",
                                             "tab\tx",
                                             "\x01\x02\x1f\x7f",
                                             "\\",
                                             "\\u0000",
                                             "{}",
                                             "]",
                                             "'",
                                             "=1+1",
                                             "\u2028",
                                             "\u00a0nb",
                                             "\u0085",
                                             "\v\f",
                                             "a b",
                                             "%s%n",
                                             "\U0001f600",
                                             "\u200b",
                                             "\ufeff",
                                             "/../x",
                                             ".",
                                             "..",
                                             "-",
                                             "null",
                                             "NaN",
                                             "\u0130\u0327"};
  if (input.chance(30)) return std::string(input.pick(std::span(kNames).first(3)));
  std::string name(input.pick(kNames));
  if (input.chance(20)) name += input.pick(kNames);
  if (input.chance(10)) name += input.text(24);
  if (input.chance(1)) name.append(input.below(30000), 'a');
  std::erase(name, '\0');
  return name;
}

bool is_utf8(std::string_view text) {
  return g_utf8_validate(text.data(), static_cast<gssize>(text.size()), nullptr);
}

}  // namespace keepbox::fuzz
