// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes recordings: a folder with an index (recording/index.h) and the .npy and .labels files that
// it names.
#pragma once

#include <gst/analytics/analytics.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "core/formula/letterbox.h"
#include "gst/base/outfile.h"
#include "gst/recording/files.h"
#include "gst/tensors/provenance.h"

namespace keepbox {

/// A tensor to record.
struct RecordedTensor {
  TensorView view;
  GstTensorDimOrder order = GST_TENSOR_DIM_ORDER_ROW_MAJOR;
  SharedProvenance source = nullptr;  // what it declares about itself
};

struct RecordedFrame {
  std::span<const RecordedTensor> tensors;
  std::optional<int64_t> time;  // stream time
  int64_t duration = 0;         // 0 unknown
  Size size;
  bool skipped = false;  // skipped by the inference element on purpose
};

/// Writes a recording. Until finish() its index is frames.jsonl.part, and an older recording in the
/// folder stays intact: its files have other names, and are removed when the new index replaces the
/// old one. Files of an unfinished recording stay, with the index frames.jsonl.part.1 or so.
class TensorWriter {
 public:
  /// Creates the folder if needed. Fails if it is in use for replay or recording.
  static Result<TensorWriter> create(const std::string& folder);

  /// Adds a frame; it enters the index only after its files are complete. After an error finish()
  /// must not be called.
  Status write(const RecordedFrame& frame);

  /// Makes the written frames the folder's recording. More frames and another finish() may follow.
  /// Without frames an older recording stays.
  Status finish();

  /// Returns a warning about a kept unfinished recording of an earlier run.
  std::optional<Error> older() const { return index_.older(); }

  size_t frames() const { return frames_; }
  /// True if all frames are in a finished recording.
  bool finished() const { return finished_; }

 private:
  TensorWriter(Folder folder, OutFile index)
      : folder_(std::move(folder)), index_(std::move(index)) {}
  Status write_frame(const RecordedFrame& frame);
  std::string name_of(size_t tensor) const;
  Result<std::string> write_labels(const std::vector<std::string>& labels);

  Folder folder_;
  OutFile index_;
  std::string prefix_;                            // of file names
  std::vector<std::string> old_;                  // files that finish() removes
  std::vector<std::vector<std::string>> labels_;  // already written, by file number
  size_t frames_ = 0;
  bool finished_ = false, failed_ = false;
};

}  // namespace keepbox
