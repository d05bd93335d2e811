// SPDX-License-Identifier: LGPL-2.1-or-later
// What is read from disk, each kind by a function that writes files in the folder and reads them.
#pragma once

#include <string>

#include "core/result.h"
#include "core/tensor.h"
#include "tests/fuzz/fuzz.h"
#include "tests/tempdir.h"

namespace keepbox::fuzz {

/// Where they lie, in memory where the system has such a folder.
const test::TempDir& folder();

/// An error says where it is, in a text that can be shown.
void check_error(const Error& error, const std::string& where);

/// Any that a tensor may have.
inline DataType any_type(Input& input) {
  return static_cast<DataType>(input.below(static_cast<uint32_t>(DataType::kFloat64) + 1));
}

void headers(Input& input);  // of NumPy
void raw_files(Input& input);
void recordings(Input& input);   // with a broken index, or files that are not what it says
void round_trips(Input& input);  // what was recorded is replayed
void lists(Input& input);        // labels, priors, ids and names
void model_texts(Input& input);  // .modelinfo, and literals of Python
void patterns(Input& input);     // names with a number or a class

}  // namespace keepbox::fuzz
