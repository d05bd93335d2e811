// SPDX-License-Identifier: LGPL-2.1-or-later
// Files of model families.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/model/detector_text.h"

namespace keepbox {

/// True if a detector= value names a file: it is neither auto nor a name of the table, and has a /
/// in it, ends in ".detector" or is the name of an existing file.
bool means_detector_file(const std::string& text);

/// Reads a file of at most 64 KiB. Errors are kNoResource as from read_text(), or kInvalid, naming
/// file, line and key, for unknown groups and keys, wrong values and contradictory fields.
Result<DetectorFile> load_detector(const std::string& path);

}  // namespace keepbox
