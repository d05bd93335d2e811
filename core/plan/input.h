// SPDX-License-Identifier: LGPL-2.1-or-later
// Converts a frame to the model input: resized, converted to R, G, B, scaled and laid out.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "core/formula/input.h"
#include "core/formula/letterbox.h"

namespace keepbox {

/// Component of a frame's pixels, as in GstVideoFormatInfo.
struct FrameComponent {
  uint8_t plane = 0;             // index of its plane
  uint8_t offset = 0;            // bytes from the start of the plane to the first sample
  uint8_t step = 1;              // bytes between samples of a row
  uint8_t sub_x = 1, sub_y = 1;  // pixels per sample
  // Centre of the first sample, in samples: 0.5 if centred on its pixels, 0.25 if co-sited with the
  // first of two.
  float shift_x = 0.5f, shift_y = 0.5f;

  /// Returns the number of samples of a row or column of that many pixels.
  uint32_t samples_per_row(uint32_t width) const { return (width + sub_x - 1) / sub_x; }
  uint32_t samples_per_column(uint32_t height) const { return (height + sub_y - 1) / sub_y; }

  friend bool operator==(const FrameComponent&, const FrameComponent&) = default;
};

/// Memory layout of 8-bit frames.
struct FrameForm {
  Size size;
  std::array<FrameComponent, 3> components;  // R G B, or Y U V, or three times the grey component
  /// rgb = matrix (c0, c1, c2, 1), with samples and colours in 0..255.
  std::array<std::array<float, 4>, 3> matrix{};
  uint8_t planes = 1;

  friend bool operator==(const FrameForm&, const FrameForm&) = default;
};

/// Pointers to the planes of a frame.
struct FramePlanes {
  static constexpr size_t kMax = 4;
  std::array<const uint8_t*, kMax> data{};
  std::array<int32_t, kMax> stride{};  // bytes between rows
};

/// Describes the model input.
struct InputForm {
  Size size;
  DataType type = DataType::kFloat32;  // or kFloat16, kUInt8
  bool channels_last = false;          // NHWC instead of NCHW
  uint8_t channels = 3;                // 1: luma, 0.299 R + 0.587 G + 0.114 B, with the mean of R
  bool bgr = false;                    // channel order B, G, R
  std::array<float, 3> mean{0, 0, 0};  // of R, G, B: input = (pixel - mean) / deviation, 0..255
  std::array<float, 3> deviation{1, 1, 1};
  uint8_t pad = 0;  // pad value (grey)
  /// Size that a centred picture is fitted into, if rectangle_of() cut the padding; 0: `size`.
  Size fitted{};

  size_t bytes() const { return size_t{size.width} * size.height * channels * size_of(type); }
};

/// Conversion from one frame size to one model input, settled before the first frame.
struct InputPlan {
  FrameForm frame;
  InputForm input;
  PixelRect place;      // in the input: shows the picture or a part of it
  Letterbox letterbox;  // for the whole picture
  /// Taps per component: one per column, one per row of the rectangle.
  std::array<std::vector<Tap>, 3> columns, rows;
  PixelRules rules;  // from components to values
};

/// Returns the input for a centred picture with as little padding as a model of dynamic size
/// allows: that of a letterbox in `most.size`, modulo `stride` pixels, as Ultralytics'
/// LetterBox(auto=True).
/// @pre sizes, aspect ratio and stride are non-zero.
InputForm rectangle_of(const Picture& frame, const InputForm& largest, uint32_t stride);

/// Plans the conversion of frames to inputs: bilinear, two samples per axis, pixel centres at .5,
/// as in OpenCV and PyTorch. The picture is placed at whole pixels as by Ultralytics (centred) or
/// YOLOX (top left) and has at least one pixel; a cropped one is placed as by torchvision. Returns
/// kInvalid for sides outside of 1..16384, a deviation of 0 and invalid components; kUnsupported
/// for other types or numbers of channels.
/// @param par_n, par_d pixel aspect ratio of the frame.
Result<InputPlan> plan_input(const FrameForm& frame, uint32_t par_n, uint32_t par_d,
                             const InputForm& input, ResizeMode mode);

/// Makes inputs from frames, by one plan.
class InputMaker {
 public:
  virtual ~InputMaker() = default;

  /// Writes the whole input including the padding. Allocates nothing.
  /// @param input `plan.input.bytes()` bytes in the maker's memory, aligned to 16 bytes.
  /// @param stream for device memory, the stream of that kind of device to enqueue on, without
  /// waiting. On the host the input is complete on return.
  virtual Status make(const FramePlanes& frame, void* input, void* stream) = 0;
};

}  // namespace keepbox
