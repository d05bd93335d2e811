// SPDX-License-Identifier: LGPL-2.1-or-later
// Readers of files; each function writes one kind of file to the folder and reads it.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "tests/fuzz/fuzz.h"
#include "tests/tempdir.h"

namespace keepbox::fuzz {

/// Folder of the files, in memory if the system has such a file system.
const test::TempDir& folder();

/// Checks that an error has its location, in printable text.
void check_error(const Error& error, const std::string& where);

/// Returns any type of a tensor.
inline DataType any_type(Input& input) { return static_cast<DataType>(input.below(kDataTypes)); }

void headers(Input& input);  // NumPy headers
void raw_files(Input& input);
void recordings(Input& input);   // with a broken index, or files that contradict it
void round_trips(Input& input);  // recordings are replayed
void lists(Input& input);        // labels, priors, ids and names
void model_texts(Input& input);  // .modelinfo, and Python literals
void patterns(Input& input);     // names with a number or a class

}  // namespace keepbox::fuzz
