// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws pictures in the type, layout and range of a model's input.
#include "gst/infer/runs/triedpictures.h"

#include <cstring>
#include <random>

#include "core/formula/numeric.h"

namespace keepbox {
namespace {

using Rgb = std::array<uint8_t, 3>;

void store(std::span<std::byte> to, size_t at, const InputForm& input, const Rgb& pixel,
           size_t channel) {
  const auto put = [&](auto value) { std::memcpy(&to[at * sizeof value], &value, sizeof value); };
  const float value =
      (static_cast<float>(pixel[channel]) - input.mean[channel]) / input.deviation[channel];
  if (input.type == DataType::kFloat32) put(value);
  else if (input.type == DataType::kFloat16) put(float_to_half(value));
  else put(pixel[channel]);
}

/// @param pixel_at a callable (x, y) that returns a pixel.
void draw(std::span<std::byte> to, const InputForm& input, auto pixel_at) {
  const size_t count = size_t{input.size.width} * input.size.height;
  for (size_t i = 0; i < count; ++i) {
    const Rgb pixel = pixel_at(static_cast<uint32_t>(i % input.size.width),
                               static_cast<uint32_t>(i / input.size.width));
    for (size_t c = 0; c < input.channels; ++c)
      store(to, input.channels_last ? i * input.channels + c : c * count + i, input, pixel,
            input.bgr ? input.channels - 1 - c : c);
  }
}

}  // namespace

Rgb pixel_of_squares(uint32_t x, uint32_t y) {
  constexpr uint32_t kSide = 32, kSmall = 12;
  const auto in = [&](uint32_t left, uint32_t top) {
    return x >= left && x < left + kSmall && y >= top && y < top + kSmall;
  };
  if (in(kSide, kSide)) return {255, 0, 0};
  if (in(2 * kSide, kSide)) return {0, 0, 255};
  const uint8_t grey = (x / kSide + y / kSide) % 2 == 0 ? 64 : 192;
  return {grey, grey, grey};
}

void draw_tried(std::span<std::byte> to, const InputForm& input) {
  const size_t bytes = input.bytes();
  std::mt19937 random(1);
  const auto any = [&] { return static_cast<uint8_t>(random()); };
  for (size_t i = 0; i < to.size() / bytes; ++i) {
    const auto picture = to.subspan(i * bytes, bytes);
    if (i == 0) draw(picture, input, [&](auto, auto) { return Rgb{any(), any(), any()}; });
    else if (i == 1) draw(picture, input, [](auto, auto) { return Rgb{}; });
    else if (i == 2) draw(picture, input, pixel_of_squares);
    else draw(picture, input, [](auto, auto) { return Rgb{255, 255, 255}; });
  }
}

}  // namespace keepbox
