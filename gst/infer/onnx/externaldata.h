// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the weight files (external data) that an ONNX file names, before a runtime opens any of
// them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/base/infile.h"

namespace keepbox {

/// Hint for a file that is not a model.
inline constexpr const char* kNoModelHint =
    "the file is truncated or not ONNX; set model-file= to an ONNX file, which 'yolo export "
    "format=onnx' makes of a .pt";

/// Returns all locations of external data in an ONNX file: of initializers, node attributes,
/// subgraphs, functions, training and sparse tensors. kInvalid if the file is truncated or not
/// ONNX, or if a location is ambiguous between readers of the format.
Result<std::set<std::string>> external_locations(const PlainFile& model);

/// Returns the weight files of a model as absolute paths without links. Each is a regular file in
/// the model's folder or below it. An error names the model and a location that leads elsewhere.
/// @param model a file; ONNX Runtime's own format (.ort) has no weight files.
Result<std::vector<std::string>> external_files(const std::string& model);

}  // namespace keepbox
