// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws files of recordings.
#pragma once

#include <string>
#include <string_view>

#include "tests/fuzz/damage.h"

namespace keepbox::fuzz {

/// Words that damage inserts.
inline constexpr std::string_view kWords[]{"'",
                                           "\"",
                                           "(",
                                           ")",
                                           ",",
                                           "{",
                                           "}",
                                           "[",
                                           "]",
                                           ":",
                                           "\n",
                                           std::string_view("\0", 1),
                                           "-1",
                                           "0",
                                           "18446744073709551616",
                                           "99999999999",
                                           "1e999",
                                           "None",
                                           "True",
                                           "'descr'",
                                           "'shape'",
                                           "nan",
                                           "\xff",
                                           "../",
                                           "/",
                                           ".npy",
                                           "null",
                                           "\"pts\":-1",
                                           "4611686018427387904",
                                           " ",
                                           "\\u0000",
                                           "\r"};

/// Returns a tensor's file, whose data has the declared length or any other.
std::string array_file(Input& input);

/// Returns an index of a few frames, most fields of which are valid.
std::string any_index(Input& input);

/// Returns a long index, from which a reader could make far more data.
std::string long_index(Input& input);

}  // namespace keepbox::fuzz
