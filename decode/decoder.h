// SPDX-License-Identifier: LGPL-2.1-or-later
// A decoder for applications: options, recognition, and a processor for the tensors that come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "core/base/threads.h"
#include "core/options/settings.h"
#include "core/run/processor.h"
#include "decode/keepbox-decode.h"

namespace keepbox {

/// Options of a decoder, and the files that they name.
struct DecoderSetup {
  DecodeOptions options;
  Size frame;  // 0x0: the model's input
  DecodeFiles files;
  Quantization quantization;
  std::string backend = "auto";
  std::vector<std::string> tensor_ids;

  /// Changes options by a text, and reads the files that it names.
  Status set(std::string_view text);
  /// Returns settings for frames of that size.
  Result<Settings> settings(Size frame) const;
};

/// Tensors of a call as core reads them: dense, with scales.
class CallTensors {
 public:
  /// Checks and takes the tensors. Host memory that is not dense is copied.
  Status take(std::span<const KeepboxDecodeTensor> tensors, const DecoderSetup& setup);

  std::span<const TensorView> views() const { return views_; }
  MemorySpace memory() const { return views_.front().space; }
  /// Fills in views of image `number`: its slices of the first dimension.
  void image(uint32_t number, std::vector<TensorView>& out) const;
  /// True if the first dimension of all tensors is the number of images.
  bool are_batches_of(size_t images) const;
  /// Returns a warning about ids without a tensor.
  const std::optional<Error>& warning() const { return warning_; }

 private:
  Status take_one(const KeepboxDecodeTensor& tensor, size_t index);

  std::vector<TensorView> views_;
  std::vector<std::vector<std::byte>> dense_;  // by tensor, of those that are copied
  std::optional<Error> warning_;
};

class Decoder {
 public:
  static Result<std::unique_ptr<Decoder>> create(std::string_view options);
  ~Decoder();

  Status set(std::string_view options);
  Status run(std::span<const KeepboxDecodeTensor> tensors,
             std::span<const KeepboxDecodeFrame> frames, KeepboxDecodeResult& result);
  Status enqueue(std::span<const KeepboxDecodeTensor> tensors,
                 std::span<const KeepboxDecodeFrame> frames, void* stream,
                 const KeepboxDecodeOutput& output);
  /// Returns the name of a class. Valid until the next call.
  const char* class_name(uint32_t class_id);

 private:
  Status prepare(std::span<const KeepboxDecodeTensor> tensors,
                 std::span<const KeepboxDecodeFrame> frames);
  bool fits(size_t frames, int device);
  Result<int> device() const;
  Status make_processor(size_t frames, int device);
  Result<Plan> plan(std::span<const TensorView> tensors);
  Status set_maps(std::span<const KeepboxDecodeFrame> frames, uint32_t images);
  Result<Letterbox> map_of(const KeepboxDecodeFrame& frame) const;
  Status check_boxes();
  void fill_masks(uint32_t number);
  void fill_image(uint32_t number, KeepboxDecodeImage& image);
  void drop();

  DecoderSetup setup_;
  CallTensors tensors_;
  std::unique_ptr<ThreadPool> threads_;
  std::optional<Processor> processor_;
  MemorySpace memory_ = MemorySpace::kSystem;  // of its tensors
  int device_ = -1;                            // of the processor; -1: the host
  uint32_t joint_ = 0;                         // frames of a joint plan; 0: not joint
  uint32_t n_images_ = 0;                      // of the last call
  std::vector<TensorView> reads_, image_;      // tensors of a run, and of an image
  Letterbox own_map_;                          // of the options
  std::vector<Letterbox> maps_;                // by image
  std::vector<KeepboxDecodeImage> images_;
  std::vector<std::vector<KeepboxDecodeMask>> masks_;
  std::string remark_, warnings_, class_name_;
};

}  // namespace keepbox
