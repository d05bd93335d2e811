// SPDX-License-Identifier: LGPL-2.1-or-later
// Sources of tensors in a recording: an object beside the tensor, and its labels in a file of the
// folder, where one serves all tensors that have the same.
//   frame, input: width and height in pixels; scale, pad: frame = (input - pad) * scale, x and y, the
//   floats to the bit. All four are there or none. model, detector: texts; units: pixels or normalized;
//   labels: the file, a name a line, empty ones too.
#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "gst/recording/indexfields.h"
#include "gst/recording/folder.h"
#include "gst/tensors/tensorsource.h"

namespace keepbox {

/// A tensor's source as an index has it.
struct IndexedSource {
  SharedTensorSource said;  // but for its labels; nullptr: nothing
  std::string labels;       // the file of its labels, or empty
};

/// @pre source.said.
WrittenJson to_json(const IndexedSource& source);

/// The source of a tensor's entry without its labels; says what is wrong.
std::expected<IndexedSource, std::string> source_at(const Json& entry);

/// The labels of a recording's sources, each file's once: a short index may have many sources that
/// share many labels.
class SourceLabels {
 public:
  /// Reads the file that a source names, while an index is read. kTruncated and kNoResource name the
  /// line of the index and the file.
  Status read(const Folder& folder, const IndexedSource& source, size_t line);

  /// The source with its labels; equal ones that were asked for of late are one object.
  /// @pre read() has it.
  SharedTensorSource whole(const IndexedSource& source);

 private:
  std::map<std::string, std::vector<std::string>> files_;
  std::vector<std::pair<IndexedSource, SharedTensorSource>> lately_;
};

/// The text of a file of labels. A line's end within a name becomes a space.
std::string labels_text(const std::vector<std::string>& labels);

}  // namespace keepbox
