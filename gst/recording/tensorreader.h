// SPDX-License-Identifier: LGPL-2.1-or-later
// Recorded tensors, frame by frame: a folder by TensorWriter, a .npy file, or a file of raw
// numbers.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/letterbox.h"
#include "core/result.h"
#include "core/tensor.h"
#include "gst/recording/folder.h"
#include "gst/recording/recordindex.h"

namespace keepbox {

/// One tensor read from a file. Holds a reference to its data.
struct StoredTensor {
  std::string id;
  DataType type = DataType::kFloat32;
  Shape shape;
  GstTensorDimOrder order = GST_TENSOR_DIM_ORDER_ROW_MAJOR;
  std::shared_ptr<GstBuffer> data;  // says its source
};

/// What a raw file does not say about itself.
struct RawForm {
  std::string dims;  // "1,84,8400"
  std::string type;  // "float32"
  std::string id;    // may be empty; of a .npy file too
};

/// Reads recordings. Data is copied into memory, so that files may change while others hold it.
class TensorReader {
 public:
  /// @param location a folder of TensorWriter's, a .npy file, or a file of raw numbers, which
  /// holds one or more frames of the tensor that `form` describes.
  /// Errors: missing, not a regular file, empty, a size that does not fit the dimensions, a broken
  /// line in the index.
  static Result<TensorReader> open(const std::string& location, const RawForm& form);

  size_t frames() const { return frames_; }

  /// The tensors of a frame, until the next call. @pre frame < frames(). The frame that was read
  /// last is not read again.
  Result<std::span<const StoredTensor>> read(size_t frame);

  /// Did an inference element leave the frame out on purpose? @pre frame < frames()
  bool skipped(size_t frame) const {
    return frame < index_.frames.size() && index_.frames[frame].skipped;
  }

  /// When the frames begin; see FrameTimes.
  const FrameTimes& times() const { return times_; }

  /// Size of the recorded frames; 0x0 if it was not recorded.
  Size frame_size() const { return frame_size_; }

  /// The first frame's tensors without their data, until the reader goes.
  std::vector<TensorView> forms() const;

 private:
  static Result<TensorReader> open_folder(const std::string& path);
  static Result<TensorReader> open_file(const std::string& path, const RawForm& form);
  Status read_folder(size_t frame);

  std::optional<Folder> folder_;
  RecordIndex index_;
  PlainFile file_;      // a raw or .npy file:
  StoredTensor form_;   // what a frame of it is, without data
  size_t offset_ = 0, frame_bytes_ = 0;
  size_t frames_ = 0;
  FrameTimes times_;
  Size frame_size_;
  std::vector<StoredTensor> tensors_;
  std::optional<size_t> held_;  // the frame that they are
};

}  // namespace keepbox
