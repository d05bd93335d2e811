// SPDX-License-Identifier: LGPL-2.1-or-later
// Readers of rows and run lengths like those of the formats' users, reimplemented.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keepbox::fuzz {

using Cells = std::vector<std::string>;

/// Reads the records of a CSV file (RFC 4180) with single-byte line ends; std::nullopt if a quote
/// is misplaced.
std::optional<std::vector<Cells>> read_csv(std::string_view text);

/// Reads lines of words with single separators, each line terminated; std::nullopt if the last one
/// is not.
std::optional<std::vector<Cells>> read_rows(std::string_view text, char separator);

/// Splits like Python's str.split(), whose blanks include more than those of ASCII.
Cells split_as_python(std::string_view line);

/// True if it is a decimal of the same float, or of any NaN for a NaN.
bool reads_as(const std::string& cell, float value);

/// Returns the pixels of COCO's compressed run lengths, column by column; std::nullopt if the text
/// is invalid or has another number of pixels.
std::optional<std::vector<bool>> read_run_lengths(std::string_view text, size_t pixels);

}  // namespace keepbox::fuzz
