// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts of a box in files: names of classes, and words.
#include "gst/sink/classes.h"

#include "gst/sink/names.h"

namespace keepbox {
namespace {

/// Shortens a word without cutting a character in half.
std::string shortened(const std::string& word, size_t max_bytes) {
  if (word.size() <= max_bytes) return word;
  const gchar* end = word.c_str() + max_bytes;
  if ((static_cast<guchar>(*end) & 0xC0) == 0x80) end = g_utf8_find_prev_char(word.c_str(), end);
  return word.substr(0, static_cast<size_t>(end - word.c_str()));
}

}  // namespace

const std::string& ClassWords::of(const std::string& name) {
  const auto known = words_.find(name);
  if (known != words_.end()) return known->second;
  const std::string whole = as_file_name(as_word(name));
  const std::string word = unique_word(name, shortened(whole, kMaxBytes));
  if (whole.size() > kMaxBytes && !std::exchange(warned_shortened_, true))
    warnings_.push_back(problem(ErrorKind::kMismatch,
                                "A class name of " + std::to_string(whole.size()) +
                                    " bytes is too long for a file: its file is named " + word));
  taken_.insert(word);
  return words_.emplace(name, word).first->second;
}

std::string ClassWords::unique_word(const std::string& name, const std::string& word) {
  if (!taken_.contains(word)) return word;
  std::string out;
  for (int number = 2; out.empty() || taken_.contains(out); ++number) {
    const std::string end = "-" + std::to_string(number);
    out = shortened(word, kMaxBytes - end.size()) + end;
  }
  if (!std::exchange(warned_duplicate_, true))
    warnings_.push_back(problem(ErrorKind::kMismatch,
                                "Two classes give the file name " + word + ": the file of \"" +
                                    shortened(name, kMaxBytes) + "\" is named " + out));
  return out;
}

namespace {

/// True if it is blank to any reader or to the eye; some readers also split at control characters.
bool is_blank(gunichar c) {
  return g_unichar_isspace(c) || g_unichar_iscntrl(c) ||
         g_unichar_break_type(c) == G_UNICODE_BREAK_ZERO_WIDTH_SPACE;
}

}  // namespace

std::string utf8(std::string_view text) {
  g_autofree gchar* valid = g_utf8_make_valid(text.data(), static_cast<gssize>(text.size()));
  return valid;
}

std::string name_of(GQuark name) {
  const gchar* text = g_quark_to_string(name);
  return text != nullptr ? utf8(text) : std::string();
}

std::string as_word(const std::string& text) {
  std::string out;
  for (const gchar* at = text.c_str(); *at != '\0'; at = g_utf8_next_char(at)) {
    if (is_blank(g_utf8_get_char(at))) out += '_';
    else out.append(at, g_utf8_next_char(at));
  }
  return out;
}

}  // namespace keepbox
