// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the lines of a key file, and lets GLib read its values.
#include "gst/decode/detectorfile/keytext.h"

#include <glib.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "gst/base/words.h"

namespace keepbox {
namespace {

size_t line_of(std::string_view text, size_t at) {
  return static_cast<size_t>(std::ranges::count(text.substr(0, at), '\n')) + 1;
}

bool is_key(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return g_ascii_isalnum(c) || c == '-' || c == '_';
  });
}

/// Collects groups and keys; values are left empty.
class Scan {
 public:
  explicit Scan(const std::string& path) { out_.path = path; }

  Status take(size_t line, std::string_view text) {
    if (text.empty() || text.starts_with('#')) return {};
    if (text.starts_with('[')) return open(line, text);
    const size_t equals = text.find('=');
    const std::string_view key = trimmed(text.substr(0, equals));
    if (equals == text.npos || !is_key(key))
      return wrong_at(out_.path, line, "", "KEY=VALUE, [GROUP] or a # comment", in_quotes(text));
    if (out_.groups.empty())
      return wrong_at(out_.path, line, key, "a group such as [detector] before the key", "none");
    KeyGroup& group = out_.groups.back();
    if (const KeyLine* before = group.find(key))
      return wrong_at(out_.path, line, key, "the key only once in [" + group.name + "]",
                      "it also on line " + std::to_string(before->line));
    group.keys.push_back({.line = line, .key = std::string(key)});
    return {};
  }

  KeyText done() { return std::move(out_); }

 private:
  Status open(size_t line, std::string_view text) {
    const std::string name(text.substr(1, text.size() - 2));
    if (!text.ends_with(']') || trimmed(name).empty() || name.find_first_of("[]") != name.npos)
      return wrong_at(out_.path, line, "", "a group such as [detector]", in_quotes(text));
    if (const KeyGroup* before = out_.find(name))
      return wrong_at(out_.path, line, text, "the group only once",
                      "it also on line " + std::to_string(before->line));
    out_.groups.push_back({.line = line, .name = name});
    return {};
  }

  KeyText out_;
};

Result<KeyText> scanned(std::string_view text, const std::string& path) {
  Scan scan(path);
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    KB_TRY(scan.take(line, trimmed(text.substr(0, end))));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return scan.done();
}

}  // namespace

const KeyLine* KeyGroup::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key, &KeyLine::key);
  return found != keys.end() ? &*found : nullptr;
}

const KeyGroup* KeyText::find(std::string_view group) const {
  const auto found = std::ranges::find(groups, group, &KeyGroup::name);
  return found != groups.end() ? &*found : nullptr;
}

std::unexpected<Error> wrong_at(const std::string& path, size_t line, std::string_view what,
                                std::string expected, std::string found) {
  auto error = fail(ErrorKind::kInvalid, std::move(expected), std::move(found));
  if (!what.empty()) error.error().put_in(what);
  error.error().put_in(path + ":" + std::to_string(line));
  return error;
}

Result<KeyText> key_text(const std::string& text, const std::string& path) {
  const gchar* end = nullptr;
  if (!g_utf8_validate_len(text.data(), text.size(), &end))
    return wrong_at(path, line_of(text, static_cast<size_t>(end - text.data())), "", "UTF-8 text",
                    "invalid bytes");
  auto out = scanned(text, path);
  if (!out) return out;
  g_autoptr(GKeyFile) file = g_key_file_new();
  g_autoptr(GError) error = nullptr;
  if (!text.empty() &&
      !g_key_file_load_from_data(file, text.data(), text.size(), G_KEY_FILE_NONE, &error))
    return wrong_at(path, 1, "", "a key file", in_quotes(error->message));
  for (KeyGroup& group : out->groups)
    for (KeyLine& line : group.keys) {
      g_autoptr(GError) bad = nullptr;
      g_autofree gchar* value =
          g_key_file_get_string(file, group.name.c_str(), line.key.c_str(), &bad);
      if (bad != nullptr)
        return wrong_at(path, line.line, line.key, "\\s, \\n, \\t, \\r or \\\\ after a backslash",
                        in_quotes(bad->message));
      line.value = trimmed(value);
    }
  return out;
}

}  // namespace keepbox
