// SPDX-License-Identifier: LGPL-2.1-or-later
// Key files with the line numbers of groups and keys.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace keepbox {

struct KeyLine {
  size_t line = 0;         // from 1
  std::string key, value;  // unescaped and trimmed
};

struct KeyGroup {
  size_t line = 0;
  std::string name;
  std::vector<KeyLine> keys;  // in the order of lines

  const KeyLine* find(std::string_view key) const;
};

/// The groups of a text, each once, with each key once.
struct KeyText {
  std::string path;  // for messages
  std::vector<KeyGroup> groups;

  const KeyGroup* find(std::string_view group) const;
};

/// Returns an error in a text: "path:line: what: expected ..., found ...".
std::unexpected<Error> wrong_at(const std::string& path, size_t line, std::string_view what,
                                std::string expected, std::string found);

/// Parses a text. Errors name path and line: invalid UTF-8, no group, no key, a duplicate.
Result<KeyText> key_text(const std::string& text, const std::string& path);

}  // namespace keepbox
