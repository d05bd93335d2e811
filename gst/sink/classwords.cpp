// SPDX-License-Identifier: LGPL-2.1-or-later
// Shortens words and makes them unique.
#include "gst/sink/classwords.h"

#include <glib.h>

#include <utility>

#include "gst/sink/classfiles.h"
#include "gst/sink/text.h"

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

}  // namespace keepbox
