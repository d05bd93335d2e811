// SPDX-License-Identifier: LGPL-2.1-or-later
// Plans the position of the picture in the model input, and the taps of each pixel.
#include "core/plan/input.h"

#include <algorithm>
#include <cmath>
#include <format>

namespace keepbox {
namespace {

constexpr uint32_t kMaxSide = 16384;

Status check_size(const char* whose, Size size) {
  const auto good = [](uint32_t side) { return side >= 1 && side <= kMaxSide; };
  if (good(size.width) && good(size.height)) return {};
  return fail(ErrorKind::kInvalid, std::format("sides of 1 to {} for the {}", kMaxSide, whose),
              std::format("{}x{}", size.width, size.height));
}

Status check_frame(const FrameForm& frame, uint32_t par_n, uint32_t par_d) {
  KB_TRY(check_size("frame", frame.size));
  if (par_n == 0 || par_d == 0)
    return reject(ErrorKind::kInvalid,
                  std::format("The frame has no possible pixel aspect ratio: {}/{}", par_n, par_d),
                  "fix the caps upstream");
  if (frame.planes == 0 || frame.planes > FramePlanes::kMax)
    return fail(ErrorKind::kInvalid, "1 to 4 planes", std::to_string(frame.planes));
  for (const FrameComponent& each : frame.components)
    if (each.plane >= frame.planes || each.step == 0 || each.sub_x == 0 || each.sub_y == 0 ||
        !is_finite(each.shift_x) || !is_finite(each.shift_y))
      return fail(ErrorKind::kInvalid, "components in the frame's planes",
                  std::format("plane {} of {}, {} bytes apart, {}x{} pixels per sample", each.plane,
                              frame.planes, each.step, each.sub_x, each.sub_y));
  return {};
}

Status check_input(const InputForm& input) {
  KB_TRY(check_size("model's input", input.size));
  if (input.type != DataType::kFloat32 && input.type != DataType::kFloat16 &&
      input.type != DataType::kUInt8)
    return fail(ErrorKind::kUnsupported, "an input of float32, float16 or uint8",
                std::string(to_string(input.type)), "export the model with one of these");
  if (input.channels != 1 && input.channels != 3)
    return fail(ErrorKind::kUnsupported, "an input of 1 or 3 channels",
                std::to_string(input.channels));
  for (size_t i = 0; i < 3; ++i)
    if (!is_finite(1 / input.deviation[i]) || !is_finite(input.mean[i] / input.deviation[i]))
      return fail(ErrorKind::kInvalid, "a finite mean and a non-zero deviation",
                  std::format("{} and {}", input.mean[i], input.deviation[i]));
  return {};
}

PixelRect scaler_rect(const Picture& frame, Size input) {
  const Letterbox map = make_letterbox(frame, {.size = input}, ResizeMode::kLetterboxScaler);
  const auto whole = [](float side) { return static_cast<uint32_t>(std::lround(side)); };
  return {whole(map.pad_x), whole(map.pad_y), whole(float(frame.size.width) / map.scale_x),
          whole(float(frame.size.height) / map.scale_y)};
}

/// Returns fitted_size() of a frame.
Size fit(const Picture& frame, Size input, bool rounded) {
  const double aspect = double(frame.par_n) / frame.par_d;
  return fitted_size(frame.size.width * aspect, frame.size.height, input, rounded);
}

PixelRect centred_rect(const Picture& frame, const InputForm& input) {
  Size place = fit(frame, input.fitted == Size{} ? input.size : input.fitted, true);
  // The padding may have been cut for a picture of another shape.
  if (place.width > input.size.width || place.height > input.size.height)
    place = fit(frame, input.size, true);
  return centred(place, input.size);
}

PixelRect rect_of(const Picture& frame, const InputForm& input, ResizeMode mode) {
  switch (mode) {
    case ResizeMode::kLetterboxTopLeft: {
      const Size place = fit(frame, input.size, false);
      return {0, 0, place.width, place.height};
    }
    case ResizeMode::kLetterboxScaler: return scaler_rect(frame, input.size);
    case ResizeMode::kLetterboxCenter: return centred_rect(frame, input);
    case ResizeMode::kStretch:
    case ResizeMode::kCrop: break;
  }
  return {0, 0, input.size.width, input.size.height};
}

/// Returns the rectangle of the whole picture, of which `place` is shown.
FittedRect picture_rect(const Picture& frame, Size input, ResizeMode mode, const PixelRect& place) {
  if (mode == ResizeMode::kCrop) return filled(frame, {.size = input});
  return {double(place.x), double(place.y), double(place.width), double(place.height)};
}

/// Pixels of an axis: of the frame, of the resized picture, and the part of it that is shown.
struct Axis {
  uint32_t from;
  double to, begin;
  uint32_t count;
};

/// Computes the taps of the pixels of an axis. @param sub, shift of FrameComponent.
std::vector<Tap> taps(const Axis& axis, uint32_t sub, float shift, uint32_t samples) {
  std::vector<Tap> out(axis.count);
  const auto last = static_cast<int32_t>(samples) - 1;
  for (uint32_t i = 0; i < axis.count; ++i) {
    const double at =
        (2.0 * (axis.begin + i) + 1) * axis.from / (2.0 * axis.to * sub) - double{shift};
    const double floor = std::floor(at);
    const auto first = static_cast<int32_t>(std::clamp(floor, -1.0, double(last)));
    const bool between = first >= 0 && first < last;
    out[i] = {.first = std::max(first, 0),
              .next = between ? first + 1 : std::max(first, 0),
              .weight = between ? static_cast<float>(at - floor) : 0.0f};
  }
  return out;
}

PixelRules rules_of(const FrameForm& frame, const InputForm& input) {
  PixelRules rules{.type = input.type, .channels = input.channels};
  rules.pixel_step = input.channels_last ? input.channels : 1;
  rules.channel_step = input.channels_last ? 1 : size_t{input.size.width} * input.size.height;
  const bool reversed = input.bgr && input.channels == 3;
  for (size_t channel = 0; channel < 3; ++channel) {
    const size_t of = reversed ? 2 - channel : channel;
    std::ranges::copy(frame.matrix[of], rules.matrix[channel]);
    rules.mean[channel] = input.mean[of];
    rules.deviation[channel] = input.deviation[of];
    rules.padding[channel] = (float(input.pad) - input.mean[of]) / input.deviation[of];
  }
  return rules;
}

}  // namespace

InputForm rectangle_of(const Picture& frame, const InputForm& largest, uint32_t stride) {
  const Size place = fit(frame, largest.size, true);
  const auto side = [&](uint32_t whole, uint32_t part) { return part + (whole - part) % stride; };
  InputForm out = largest;
  out.fitted = largest.size;
  out.size = {side(largest.size.width, place.width), side(largest.size.height, place.height)};
  return out;
}

Result<InputPlan> plan_input(const FrameForm& frame, uint32_t par_n, uint32_t par_d,
                             const InputForm& input, ResizeMode mode) {
  KB_TRY(check_frame(frame, par_n, par_d));
  KB_TRY(check_input(input));
  InputPlan plan{.frame = frame, .input = input};
  const Picture picture{.size = frame.size, .par_n = par_n, .par_d = par_d};
  const PixelRect place = plan.place = rect_of(picture, input, mode);
  const FittedRect whole = picture_rect(picture, input.size, mode, place);
  plan.letterbox = letterbox_at(whole, frame.size, input.size);
  const Axis across{frame.size.width, whole.width, place.x - whole.x, place.width};
  const Axis down{frame.size.height, whole.height, place.y - whole.y, place.height};
  for (size_t i = 0; i < 3; ++i) {
    const FrameComponent& each = frame.components[i];
    plan.columns[i] =
        taps(across, each.sub_x, each.shift_x, each.samples_per_row(frame.size.width));
    plan.rows[i] = taps(down, each.sub_y, each.shift_y, each.samples_per_column(frame.size.height));
  }
  plan.rules = rules_of(frame, input);
  return plan;
}

}  // namespace keepbox
