// SPDX-License-Identifier: LGPL-2.1-or-later
// From a frame to a model's input: fitted in, converted to R, G, B, scaled, ordered.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/input_pixel.h"
#include "core/letterbox.h"
#include "core/result.h"
#include "core/tensor.h"

namespace keepbox {

/// One of the three components of a frame's pixels, as GstVideoFormatInfo describes it.
struct FrameComponent {
  uint8_t plane = 0;       // which of the planes it lies in
  uint8_t offset = 0;      // bytes from the plane's start to the first sample
  uint8_t step = 1;        // bytes from a sample to the next of the row
  uint8_t sub_x = 1, sub_y = 1;  // pixels that share a sample
  // The first sample's centre, in samples: 0.5 amid the pixels that share it; co-sited with the first
  // of two 0.25.
  float shift_x = 0.5f, shift_y = 0.5f;

  /// How many samples a row or a column of that many pixels has.
  uint32_t across(uint32_t width) const { return (width + sub_x - 1) / sub_x; }
  uint32_t down(uint32_t height) const { return (height + sub_y - 1) / sub_y; }

  friend bool operator==(const FrameComponent&, const FrameComponent&) = default;
};

/// How frames of some caps lie in memory: samples of 8 bits.
struct FrameForm {
  Size size;
  std::array<FrameComponent, 3> components;  // R G B, or Y U V, or three times the grey
  /// rgb = matrix (c0, c1, c2, 1) with samples and colours in 0..255.
  std::array<std::array<float, 4>, 3> matrix{};
  uint8_t planes = 1;

  friend bool operator==(const FrameForm&, const FrameForm&) = default;
};

/// Where a frame's planes are.
struct FramePlanes {
  static constexpr size_t kMost = 4;
  std::array<const uint8_t*, kMost> data{};
  std::array<int32_t, kMost> stride{};  // bytes from a row to the next
};

/// What a model wants to see.
struct InputForm {
  Size size;
  DataType type = DataType::kFloat32;  // or kFloat16, kUInt8
  bool channels_last = false;          // NHWC instead of NCHW
  uint8_t channels = 3;                // 1: luma, 0.299 R + 0.587 G + 0.114 B, with R's mean
  bool bgr = false;                    // channels in the order B, G, R
  std::array<float, 3> mean{0, 0, 0};  // of R, G, B: input = (pixel - mean) / deviation, of 0..255
  std::array<float, 3> deviation{1, 1, 1};
  uint8_t pad = 0;                     // grey of what the picture does not cover

  size_t bytes() const { return size_t{size.width} * size.height * channels * size_of(type); }
};

/// Everything about one frame size and one model that is settled before the first frame.
struct InputPlan {
  FrameForm frame;
  InputForm input;
  /// The picture's place in the input, in whole pixels.
  struct Place {
    uint32_t x, y, width, height;
  } place{};
  Letterbox letterbox;  // of that place
  /// By component: one a column, one a row of the place.
  std::array<std::vector<Tap>, 3> columns, rows;
  PixelRules rules;  // from there to numbers
};

/// Settles how frames become inputs: bilinear, two samples an axis, pixel centres at .5, as OpenCV
/// and PyTorch resize; the picture at whole pixels as Ultralytics places it (centred) or YOLOX (top
/// left), at least one. kInvalid for sides that are not in 1..16384, a deviation of 0 and
/// components that cannot be; kUnsupported for other types and numbers of channels.
/// @param par_n, par_d pixel aspect ratio of the frame.
Result<InputPlan> plan_input(const FrameForm& frame, uint32_t par_n, uint32_t par_d,
                             const InputForm& input, ResizeMode mode);

/// Makes inputs of frames by one plan.
class InputMaker {
 public:
  virtual ~InputMaker() = default;

  /// Writes a whole input, the padding too. Allocates nothing.
  /// @param input `plan.input.bytes()` in the memory that the maker is for, aligned to 16 bytes.
  /// @param stream the cudaStream_t that the work is enqueued on, where it is the device's: this
  /// does not wait. On the host it is done on return.
  virtual Status make(const FramePlanes& frame, void* input, void* stream) = 0;
};

}  // namespace keepbox
