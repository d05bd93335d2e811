// SPDX-License-Identifier: LGPL-2.1-or-later
// Sources of tensors in a recording: an object in the tensor's entry, and its labels in a file of
// the folder, shared by all tensors with the same labels.
//   frame, input: width and height in pixels; scale, pad: frame = (input - pad) * scale, x and y,
//   exact floats. Either all four are present or none. model, detector: texts; units: pixels or
//   normalized; labels: the file, with one name per line, including empty ones.
#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gst/recording/folder.h"
#include "gst/recording/indexfields.h"
#include "gst/tensors/tensorsource.h"

namespace keepbox {

/// A tensor's source in an index.
struct IndexedProvenance {
  SharedProvenance facts;  // without labels; nullptr if there is no source
  std::string labels;      // file of its labels, or empty
};

/// @pre source.facts.
WrittenJson to_json(const IndexedProvenance& source);

/// Returns the source of a tensor's entry without its labels, or the error.
std::expected<IndexedProvenance, std::string> source_at(const Json& entry);

/// The labels of a recording's sources, each file read once: a short index may have many sources
/// that share many labels.
class SourceLabels {
 public:
  /// Reads the file that a source names, while an index is read. kTruncated and kNoResource name
  /// the line of the index and the file.
  Status read(const Folder& folder, const IndexedProvenance& source, size_t line);

  /// Returns the source with its labels; equal sources that were requested recently share one
  /// object. @pre read() has read its labels.
  SharedProvenance whole(const IndexedProvenance& source);

 private:
  std::map<std::string, std::vector<std::string>> files_;
  std::vector<std::pair<IndexedProvenance, SharedProvenance>> recent_;
};

/// Returns the text of a label file. Line ends within a name become spaces.
std::string labels_text(const std::vector<std::string>& labels);

}  // namespace keepbox
