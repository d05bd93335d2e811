// SPDX-License-Identifier: LGPL-2.1-or-later
// The files of weights that an ONNX file names (external data), found before a runtime opens any of
// them.
#pragma once

#include <compare>
#include <cstdint>
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

/// What tells the content of a file from another under the same path.
struct FileStamp {
  uint64_t device = 0, inode = 0;
  int64_t bytes = 0, modified = 0, changed = 0;  // times in nanoseconds

  auto operator<=>(const FileStamp&) const = default;
};

/// Of a model and of its files of weights. Shorter where they cannot be read, which is an error of
/// whoever opens them.
std::vector<FileStamp> file_stamps(const std::string& model);

}  // namespace keepbox
