// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads recorded tensors frame by frame: a folder written by TensorWriter, a .npy file, or a file
// of raw numbers.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "core/formula/letterbox.h"
#include "core/plan/plan.h"
#include "gst/recording/files.h"
#include "gst/recording/index.h"

namespace keepbox {

/// A tensor read from a file. Holds a reference to its data.
struct StoredTensor {
  std::string id;
  DataType type = DataType::kFloat32;
  Shape shape;
  GstTensorDimOrder order = GST_TENSOR_DIM_ORDER_ROW_MAJOR;
  std::shared_ptr<GstBuffer> data;  // with its source attached
};

/// The properties of a raw file, which it does not contain.
struct RawForm {
  std::string dims;  // "1,84,8400"
  std::string type;  // "float32"
  std::string id;    // may be empty; also for a .npy file
};

/// Reads recordings. Data is copied into memory, so that files may change while tensors are in use.
class TensorReader {
 public:
  /// @param location a folder written by TensorWriter, a .npy file, or a file of raw numbers with
  /// one or more frames of the tensor that `form` describes. A tensor of a batch is a frame per
  /// slice: its first dimension is above 1, and so are two or more others, because fewer are a
  /// table. Errors: missing, not a regular file, empty, a size that does not match the dimensions,
  /// a broken line in the index.
  static Result<TensorReader> open(const std::string& location, const RawForm& form);

  size_t frames() const { return frames_; }

  /// Returns the tensors of a frame, valid until the next call. @pre frame < frames(). The frame
  /// that was read last is not read again.
  Result<std::span<const StoredTensor>> read(size_t frame);

  /// True if the inference element skipped the frame on purpose. @pre frame < frames()
  bool skipped(size_t frame) const {
    return frame < index_.frames.size() && index_.frames[frame].skipped;
  }

  /// Returns the start times of the frames; see FrameTimes.
  const FrameTimes& times() const { return times_; }

  /// Returns the size of the recorded frames; 0x0 if it was not recorded.
  Size frame_size() const { return frame_size_; }

  /// Returns the first frame's tensors without their data.
  std::vector<TensorForm> forms() const;

 private:
  static Result<TensorReader> open_folder(const std::string& path);
  static Result<TensorReader> open_file(const std::string& path, const RawForm& form);
  Status read_folder(size_t frame);
  void split_batches();

  std::optional<Folder> folder_;
  RecordIndex index_;
  PlainFile file_;     // a raw or .npy file
  StoredTensor form_;  // the tensor of one frame, without data
  size_t offset_ = 0, frame_bytes_ = 0;
  size_t frames_ = 0;
  FrameTimes times_;
  Size frame_size_;
  std::vector<StoredTensor> tensors_;
  std::optional<size_t> held_;  // the frame of tensors_
};

}  // namespace keepbox
