// SPDX-License-Identifier: LGPL-2.1-or-later
// Valid texts with damage, and unusual names.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tests/fuzz/fuzz.h"

namespace keepbox::fuzz {

/// Changes, removes or repeats some bytes, or replaces them by one of the words.
std::string damaged(Input& input, std::string text, std::span<const std::string_view> words);

/// Returns a label, id or name: often an ordinary one, otherwise control characters, quotes,
/// separators, other scripts or invalid UTF-8. No NUL; may be empty.
std::string any_name(Input& input);

/// True if it is text that language bindings accept, too.
bool is_utf8(std::string_view text);

}  // namespace keepbox::fuzz
