// SPDX-License-Identifier: LGPL-2.1-or-later
// The files of weights that an ONNX file names (external data), found before a runtime opens any of
// them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "gst/base/plainfile.h"

namespace keepbox {

/// All locations that tensors of an ONNX file name: initializers, attributes of nodes, those of
/// subgraphs, functions and training, and sparse ones. kInvalid for a file that is no whole ONNX
/// file, and for a location that readers of the format could understand in two ways.
Result<std::set<std::string>> external_locations(const PlainFile& model);

/// The files of weights of a model, as absolute paths without links. Each is a regular file beside
/// the model or in a folder below. An error names the model, and a location that leads elsewhere.
/// @param model a file; one of ONNX Runtime's own format (.ort) has no such files.
Result<std::vector<std::string>> external_files(const std::string& model);

}  // namespace keepbox
