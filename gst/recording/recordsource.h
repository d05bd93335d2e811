// SPDX-License-Identifier: LGPL-2.1-or-later
// Sources of tensors in a recording: an object beside the tensor, and its labels in a file of the
// folder, where one serves all tensors that have the same.
//   frame, input: width and height in pixels; scale, pad: frame = (input - pad) * scale, x and y, the
//   floats to the bit. All four are there or none. model, detector: texts; units: pixels or normalized;
//   labels: the file, a name a line, empty ones too.
#pragma once

#include <expected>
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
  SharedTensorSource said;  // nullptr: nothing
  std::string labels;       // the file of its labels, or empty
};

/// @pre source.said.
Json to_json(const IndexedSource& source);

/// The source of a tensor's entry without its labels; says what is wrong.
std::expected<IndexedSource, std::string> source_at(const Json& entry);

/// Reads files of labels while an index is read.
class SourceLabels {
 public:
  /// @param folder outlives this.
  explicit SourceLabels(const Folder& folder) : folder_(folder) {}

  /// Gives a source the labels of its file; equal ones become one object. kTruncated and kNoResource
  /// name the line of the index and the file.
  Status add_to(IndexedSource& source, size_t line);

 private:
  Result<std::vector<std::string>> labels_of(const std::string& file);

  const Folder& folder_;
  std::vector<std::pair<std::string, std::vector<std::string>>> files_;
  std::vector<SharedTensorSource> lately_;
};

/// The text of a file of labels. A line's end within a name becomes a space.
std::string labels_text(const std::vector<std::string>& labels);

}  // namespace keepbox
