// SPDX-License-Identifier: LGPL-2.1-or-later
// Good texts spoilt, and names that nobody would choose.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tests/fuzz/fuzz.h"

namespace keepbox::fuzz {

/// A few bytes changed, taken out, repeated, or replaced by one of the words.
std::string damaged(Input& input, std::string text, std::span<const std::string_view> words);

/// A label, id or name: often an ordinary one, else controls, quotes, separators, other scripts,
/// bytes that are not UTF-8. No NUL; may be empty.
std::string any_name(Input& input);

/// Is it text that bindings of other languages take, too?
bool is_utf8(std::string_view text);

}  // namespace keepbox::fuzz
