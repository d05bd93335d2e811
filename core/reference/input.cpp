// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes a model's input from a frame or a cut-out.

#include "core/reference/backend.h"

namespace keepbox::reference {
namespace {

/// Computes the values of the pixel in column x and row y of the picture's rectangle.
void inside(const InputPlan& plan, const FramePlanes& frame, uint32_t x, uint32_t y, float* out) {
  float values[3];
  for (size_t i = 0; i < 3; ++i) {
    const FrameComponent& each = plan.frame.components[i];
    const Tap& row = plan.rows[i][y];
    const uint8_t* const data = frame.data[each.plane] + each.offset;
    const ptrdiff_t stride = frame.stride[each.plane];
    values[i] = sample(data + row.first * stride, data + row.next * stride, each.step,
                       plan.columns[i][x], row.weight);
  }
  to_channels(plan.rules, values[0], values[1], values[2], out);
}

template <class T>
void make_as(const InputPlan& plan, const FramePlanes& frame, T* input) {
  const auto [left, top, width, height] = plan.place;
  const PixelRules& rules = plan.rules;
  for (uint32_t y = 0; y < plan.input.size.height; ++y)
    for (uint32_t x = 0; x < plan.input.size.width; ++x) {
      float out[3] = {rules.padding[0], rules.padding[1], rules.padding[2]};
      if (x - left < width && y - top < height)  // wraps around left of and above the rectangle
        inside(plan, frame, x - left, y - top, out);
      const size_t pixel = size_t{y} * plan.input.size.width + x;
      for (uint32_t c = 0; c < rules.channels; ++c)
        store_value(input + pixel * rules.pixel_step + c * rules.channel_step, out[c]);
    }
}

class Maker final : public InputMaker {
 public:
  explicit Maker(const InputPlan& plan) : plan_(plan) {}

  Status make(const FramePlanes& frame, void* input, void*) override {
    with_input_type(plan_.rules.type,
                    [&](auto type) { make_as(plan_, frame, static_cast<decltype(type)*>(input)); });
    return {};
  }

 private:
  const InputPlan plan_;
};

}  // namespace

Result<std::unique_ptr<InputMaker>> input_maker(const InputPlan& plan) {
  return std::make_unique<Maker>(plan);
}

namespace {

float value_at(const FrameComponent& each, Size frame, const FramePlanes& planes, CropPoint at) {
  const Tap column = crop_tap(at.x, each.sub_x, each.shift_x, each.samples_per_row(frame.width));
  const Tap row = crop_tap(at.y, each.sub_y, each.shift_y, each.samples_per_column(frame.height));
  const uint8_t* const data = planes.data[each.plane] + each.offset;
  const ptrdiff_t stride = planes.stride[each.plane];
  return sample(data + row.first * stride, data + row.next * stride, each.step, column, row.weight);
}

template <class T>
void make_as(const CropPlan& plan, const FramePlanes& planes, const Crop& crop, T* input) {
  const auto [left, top, width, height] = crop.place;
  const PixelRules& rules = plan.rules;
  const Size frame = plan.frame.size;
  const auto across = static_cast<float>(frame.width), down = static_cast<float>(frame.height);
  const auto& parts = plan.frame.components;
  for (uint32_t y = 0; y < plan.input.size.height; ++y)
    for (uint32_t x = 0; x < plan.input.size.width; ++x) {
      float values[3] = {rules.padding[0], rules.padding[1], rules.padding[2]};
      const CropPoint at = crop_point(crop.map, x, y);
      // Differences wrap around left of and above the rectangle.
      if (x - left < width && y - top < height && has_pixel(across, down, at))
        to_channels(rules, value_at(parts[0], frame, planes, at),
                    value_at(parts[1], frame, planes, at), value_at(parts[2], frame, planes, at),
                    values);
      const size_t pixel = size_t{y} * plan.input.size.width + x;
      for (uint32_t c = 0; c < rules.channels; ++c)
        store_value(input + pixel * rules.pixel_step + c * rules.channel_step, values[c]);
    }
}

class CropInputMaker final : public CropMaker {
 public:
  explicit CropInputMaker(const CropPlan& plan) : plan_(plan) {}

  Status make(const FramePlanes& frame, const Crop& crop, void* input, void*) override {
    with_input_type(plan_.rules.type, [&](auto type) {
      make_as(plan_, frame, crop, static_cast<decltype(type)*>(input));
    });
    return {};
  }

 private:
  const CropPlan plan_;
};

}  // namespace

Result<std::unique_ptr<CropMaker>> crop_maker(const CropPlan& plan) {
  return std::make_unique<CropInputMaker>(plan);
}

}  // namespace keepbox::reference
