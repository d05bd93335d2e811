// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes recordings: a folder with an index (recordindex.h) and the .npy and .labels
// files that it names.
#pragma once

#include <gst/analytics/analytics.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/letterbox.h"
#include "core/result.h"
#include "core/tensor.h"
#include "gst/base/outfile.h"
#include "gst/recording/folder.h"
#include "gst/tensors/tensorsource.h"

namespace keepbox {

/// One tensor to record.
struct RecordedTensor {
  TensorView view;
  GstTensorDimOrder order = GST_TENSOR_DIM_ORDER_ROW_MAJOR;
  SharedTensorSource source = nullptr;  // what it says of itself
};

struct RecordedFrame {
  std::span<const RecordedTensor> tensors;
  std::optional<int64_t> time;  // stream time
  int64_t duration = 0;         // 0 unknown
  Size size;
  bool skipped = false;  // an inference element left it out on purpose
};

/// Writes a recording. Until finish() its index is frames.jsonl.part, and an older recording in the
/// folder stays whole: its files have other names, and go when the new index takes the old one's
/// place. Those that an unfinished one left stay, and its index is frames.jsonl.part.1 or so.
class TensorWriter {
 public:
  /// Makes the folder if needed. Fails when somebody replays or records there.
  static Result<TensorWriter> create(const std::string& folder);

  /// Adds a frame; it is in the index only when its files are whole. After an error there is no
  /// finish().
  Status write(const RecordedFrame& frame);

  /// Makes what was written the folder's recording. Frames may follow, and another finish().
  /// Without frames an older recording stays.
  Status finish();

  /// A warning of what an earlier run left, which is kept.
  std::optional<Error> older() const { return index_.older(); }

  size_t frames() const { return frames_; }
  /// Are all frames in a recording that has its name?
  bool finished() const { return finished_; }

 private:
  TensorWriter(Folder folder, OutFile index)
      : folder_(std::move(folder)), index_(std::move(index)) {}
  Status write_frame(const RecordedFrame& frame);
  std::string name_of(size_t tensor) const;
  Result<std::string> write_labels(const std::vector<std::string>& labels);

  Folder folder_;
  OutFile index_;
  std::string prefix_;             // of files' names
  std::vector<std::string> old_;   // names of the files that finish() removes
  std::vector<std::vector<std::string>> labels_;  // that have their file, by its number
  size_t frames_ = 0;
  bool finished_ = false, failed_ = false;
};

}  // namespace keepbox
