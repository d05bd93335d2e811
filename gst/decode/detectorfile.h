// SPDX-License-Identifier: LGPL-2.1-or-later
// A model family in a file: the fields of core's table, as a key file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/detector.h"
#include "core/result.h"

namespace keepbox {

struct DetectorFile {
  std::shared_ptr<const DetectorSpec>
      family;              // with all that it points to; never recognised by shape
  std::string label_file;  // as it is found from here; empty: none
};

/// Does a text that is to name a family mean a file? It is no name of the table, and has a / in it,
/// ends in ".detector" or is the name of a file.
bool means_detector_file(const std::string& text);

/// Reads a file of at most 64 KiB. Errors: kNoResource as read_text(), else kInvalid, which name
/// file, line and key: unknown groups and keys, wrong values, fields that make no sense together.
Result<DetectorFile> load_detector(const std::string& path);

/// The same of a text. @param path for messages, for the name where there is none, and for what the
/// label file is beside.
Result<DetectorFile> read_detector(const std::string& text, const std::string& path);

/// The file of a family, which reads back as the same family.
std::string print_detector(const DetectorSpec& spec);

/// All keys with a sentence and what they may be, for readers.
std::string detector_keys_text();

}  // namespace keepbox
