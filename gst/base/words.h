// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts of others in our messages, and lists of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace keepbox {

/// The text in quotation marks: valid UTF-8 in one line, its beginning when it is long.
std::string in_quotes(std::string_view text);

/// "a; b; c"
std::string joined(std::span<const std::string> parts);

/// Without blanks around it.
std::string_view trimmed(std::string_view text);

/// A whole number and nothing else; false when it is none or does not fit.
bool parse_whole(std::string_view text, int64_t& value);

/// A finite number and nothing else.
bool parse_finite(std::string_view text, double& value);

}  // namespace keepbox
