// SPDX-License-Identifier: LGPL-2.1-or-later
// Recorded tensors: a folder of .npy files with an index, or a single file of raw numbers.
//
// The folder holds frames.jsonl, one JSON object a frame in their order:
//   {"frame":0,"pts":0,"width":320,"height":320,"tensors":[
//     {"file":"000000.0.npy","id":"yolo-v8-out","type":"float32","dims":[1,10,2100],
//      "dims-order":"row-major"}]}
// and the named files in NumPy's format. A frame is in the index only when its files are whole.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "core/letterbox.h"
#include "core/result.h"
#include "core/tensor.h"

namespace keepbox {

/// One tensor read from a file. Holds a reference to its data.
struct StoredTensor {
  std::string id;
  DataType type = DataType::kFloat32;
  Shape shape;
  GstTensorDimOrder order = GST_TENSOR_DIM_ORDER_ROW_MAJOR;
  std::shared_ptr<GstBuffer> data;
};

/// What a raw file does not say about itself.
struct RawForm {
  std::string dims;  // "1,84,8400"
  std::string type;  // "float32"
  std::string id;    // may be empty
};

/// Writes recordings.
class TensorWriter {
 public:
  /// Makes the folder if needed and begins a new index. An older recording there is replaced.
  static Result<TensorWriter> create(const std::string& folder);

  /// Adds a frame. Errors (a full disk, say) leave the index without it.
  Status write(std::span<const TensorView> tensors, const GstTensorDimOrder* orders,
               GstClockTime pts, Size frame);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string folder_;
  std::unique_ptr<std::FILE, Close> index_;
  unsigned frames_ = 0;
};

/// Reads recordings frame by frame.
class TensorReader {
 public:
  /// @param location a folder of TensorWriter's, a .npy file, or a file of raw numbers, which
  /// holds one or more frames of the tensor that `form` describes.
  /// Errors: missing, empty, a size that does not fit the dimensions, a broken index.
  static Result<TensorReader> open(const std::string& location, const RawForm& form);

  /// The next frame's tensors, or false after the last.
  Result<bool> next(std::vector<StoredTensor>& out);
  void rewind() { at_ = 0; }

  /// Goes to the first frame that was recorded at or after a time; to the first of all where the
  /// recording has no times.
  void seek(GstClockTime time);

  /// Size of the recorded frames, or the input that the tensor seems to belong to; 0 x 0 unknown.
  Size frame_size() const { return frame_size_; }

 private:
  std::string folder_;
  std::vector<std::string> index_;  // lines of frames.jsonl
  StoredTensor whole_;              // of a raw or .npy file: all frames in one
  size_t frames_ = 0, frame_bytes_ = 0;
  size_t at_ = 0;
  Size frame_size_;
};

}  // namespace keepbox
