// SPDX-License-Identifier: LGPL-2.1-or-later
// Computes the position of the resized picture in the model input.
#include "core/formula/letterbox.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace keepbox {
namespace {

FittedRect stretched(const Picture& model) {
  return {.width = static_cast<double>(model.size.width),
          .height = static_cast<double>(model.size.height)};
}

/// Display aspect ratio of a picture in model pixels; products of integers are exact.
struct Aspect {
  double width, height;
};

Aspect aspect_of(const Picture& frame, const Picture& model) {
  return {double{1} * frame.size.width * frame.par_n * model.par_d,
          double{1} * frame.size.height * frame.par_d * model.par_n};
}

FittedRect fitted(const Picture& frame, const Picture& model) {
  const double mw = model.size.width, mh = model.size.height;
  const auto [width, height] = aspect_of(frame, model);
  FittedRect place{.width = mw, .height = mh};
  if (mw * height <= mh * width) place.height = mw * height / width;
  else place.width = mh * width / height;
  return place;
}

/// A ratio in lowest terms.
struct Ratio {
  uint64_t n, d;
};

/// Multiplies as gst_util_fraction_multiply() does; nothing if a term overflows.
std::optional<Ratio> product(Ratio a, Ratio b) {
  const auto reduce = [](uint64_t& n, uint64_t& d) {
    const uint64_t common = std::gcd(n, d);
    n /= common;
    d /= common;
  };
  reduce(a.n, a.d);
  reduce(b.n, b.d);
  reduce(a.n, b.d);
  reduce(b.n, a.d);
  const Ratio out{a.n * b.n, a.d * b.d};
  constexpr uint64_t kMax = std::numeric_limits<int32_t>::max();
  return out.n <= kMax && out.d <= kMax ? std::optional(out) : std::nullopt;
}

/// Rounds down to whole pixels. Does not keep aspect ratios that the scaler cannot compute.
FittedRect scaled(const Picture& frame, const Picture& model) {
  const auto display = product({frame.size.width, frame.size.height}, {frame.par_n, frame.par_d});
  const auto ratio = display ? product(*display, {model.par_d, model.par_n}) : std::nullopt;
  if (!ratio) return stretched(model);
  uint64_t width = model.size.width, height = width * ratio->d / ratio->n;
  if (height > model.size.height) {
    height = model.size.height;
    width = height * ratio->n / ratio->d;
  }
  const auto begin = [](uint64_t whole, uint64_t part, uint32_t step) {
    return static_cast<double>((whole - part) / 2 / step * step);
  };
  return {.x = begin(model.size.width, width, model.chroma.width),
          .y = begin(model.size.height, height, model.chroma.height),
          .width = static_cast<double>(std::max<uint64_t>(width, 1)),
          .height = static_cast<double>(std::max<uint64_t>(height, 1))};
}

FittedRect rect_of(const Picture& frame, const Picture& model, ResizeMode mode) {
  switch (mode) {
    case ResizeMode::kLetterboxTopLeft: return fitted(frame, model);
    case ResizeMode::kLetterboxScaler: return scaled(frame, model);
    case ResizeMode::kLetterboxCenter: {
      FittedRect place = fitted(frame, model);
      place.x = (model.size.width - place.width) / 2;
      place.y = (model.size.height - place.height) / 2;
      return place;
    }
    case ResizeMode::kCrop: return filled(frame, model);
    case ResizeMode::kStretch: break;
  }
  return stretched(model);
}

}  // namespace

FittedRect filled(const Picture& frame, const Picture& model) {
  const double mw = model.size.width, mh = model.size.height;
  const auto [width, height] = aspect_of(frame, model);
  FittedRect place{.width = mw, .height = mh};
  if (mw * height >= mh * width) place.height = std::max(std::floor(mw * height / width), mh);
  else place.width = std::max(std::floor(mh * width / height), mw);
  place.x = 0 - std::rint((place.width - mw) / 2);  // never -0
  place.y = 0 - std::rint((place.height - mh) / 2);
  return place;
}

Size fitted_size(double width, double height, Size input, bool rounded) {
  const double ratio = std::min(input.height / height, input.width / width);
  const auto side = [&](double from, uint32_t largest) {
    const double exact = from * ratio;
    const double whole = rounded ? std::rint(exact) : std::floor(exact);
    return static_cast<uint32_t>(std::clamp(whole, 1.0, double(largest)));
  };
  return {side(width, input.width), side(height, input.height)};
}

PixelRect centred(Size picture, Size input) {
  return {(input.width - picture.width) / 2, (input.height - picture.height) / 2, picture.width,
          picture.height};
}

Letterbox letterbox_at(const FittedRect& place, Size frame, Size model) {
  return {.frame = frame,
          .model = model,
          .scale_x = static_cast<float>(frame.width / place.width),
          .scale_y = static_cast<float>(frame.height / place.height),
          .pad_x = static_cast<float>(place.x),
          .pad_y = static_cast<float>(place.y)};
}

Letterbox make_letterbox(Picture frame, Picture model, ResizeMode mode) {
  return letterbox_at(rect_of(frame, model, mode), frame.size, model.size);
}

Letterbox moved(const Letterbox& from, Size to, double scale_x, double scale_y, double dx,
                double dy) {
  const double x = from.scale_x * scale_x, y = from.scale_y * scale_y;
  return {.frame = to,
          .model = from.model,
          .scale_x = static_cast<float>(x),
          .scale_y = static_cast<float>(y),
          .pad_x = static_cast<float>(from.pad_x - dx / x),
          .pad_y = static_cast<float>(from.pad_y - dy / y)};
}

Letterbox scaled_to(const Letterbox& from, Size to) {
  if (from.frame == to) return from;  // bit-exact
  const auto ratio = [](uint32_t a, uint32_t b) { return static_cast<double>(a) / b; };
  return moved(from, to, ratio(to.width, from.frame.width), ratio(to.height, from.frame.height));
}

}  // namespace keepbox
