// SPDX-License-Identifier: LGPL-2.1-or-later
// Families as key files, with the fields of detector_fields.h.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/model/detector.h"

namespace keepbox {

struct DetectorFile {
  std::shared_ptr<const DetectorSpec> family;  // owns its data; never recognised by shape
  std::string label_file, priors_file;         // resolved paths; empty: none
};

/// Parses the text of a detector file. @param path for messages, for the family's name if the text
/// has none, and to resolve the files that it names.
Result<DetectorFile> read_detector(const std::string& text, const std::string& path);

/// True if a detector= value names a file: it is neither auto nor a name of the table, and has a /
/// in it, ends in ".detector" or is the name of an existing file.
bool means_detector_file(const std::string& text);

/// Reads a file of at most 64 KiB. Errors are kNoResource as from read_text(), or kInvalid, naming
/// file, line and key, for unknown groups and keys, wrong values and contradictory fields.
Result<DetectorFile> load_detector(const std::string& path);

/// Prints a family as a file that reads back as the same family.
std::string print_detector(const DetectorSpec& spec);

/// Returns all keys, each with a sentence and its accepted values.
std::string detector_keys_text();

}  // namespace keepbox
