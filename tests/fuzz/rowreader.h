// SPDX-License-Identifier: LGPL-2.1-or-later
// Readers of rows and run lengths as those who use the formats have them, written anew.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keepbox::fuzz {

using Cells = std::vector<std::string>;

/// The records of a CSV file (RFC 4180) with ends of lines of one byte; nothing where a quote
/// stands where none may.
std::optional<std::vector<Cells>> read_csv(std::string_view text);

/// Lines of words with one separator between two, each line ended; nothing where the last one is
/// not.
std::optional<std::vector<Cells>> read_rows(std::string_view text, char separator);

/// As Python's str.split() has it, whose blanks are more than those of ASCII.
Cells split_as_python(std::string_view line);

/// Is it a decimal of a float: the same float, whichever of the NaNs?
bool reads_as(const std::string& cell, float value);

/// The pixels of COCO's compressed run lengths, column by column; nothing where the text is none or
/// tells of another number of pixels.
std::optional<std::vector<bool>> read_run_lengths(std::string_view text, size_t pixels);

}  // namespace keepbox::fuzz
