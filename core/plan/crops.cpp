// SPDX-License-Identifier: LGPL-2.1-or-later
// Computes the maps of crops from boxes and keypoints.
#include "core/plan/crops.h"

#include <algorithm>
#include <charconv>
#include <complex>
#include <format>

namespace keepbox {
namespace {

/// Rectangle of the input that a picture is fitted into, and the part of the picture that it shows,
/// in pixels of the picture.
struct Fitted {
  PixelRect place;
  double x, y, width, height;
};

/// @param aspect of a pixel.
Fitted fitted(double width, double height, double aspect, Size input, ResizeMode mode) {
  const PixelRect all{0, 0, input.width, input.height};
  switch (mode) {
    case ResizeMode::kStretch: return {all, 0, 0, width, height};
    case ResizeMode::kCrop: {
      const double ratio = std::max(input.width / (width * aspect), input.height / height);
      const double shown_x = input.width / (ratio * aspect), shown_y = input.height / ratio;
      return {all, (width - shown_x) / 2, (height - shown_y) / 2, shown_x, shown_y};
    }
    case ResizeMode::kLetterboxTopLeft:
    case ResizeMode::kLetterboxCenter:
    case ResizeMode::kLetterboxScaler: break;
  }
  const Size size = fitted_size(width * aspect, height, input, true);
  const bool corner = mode == ResizeMode::kLetterboxTopLeft;
  return {corner ? PixelRect{0, 0, size.width, size.height} : centred(size, input), 0, 0, width,
          height};
}

bool finite(const Box& box, float angle) {
  return is_finite(box.x1) && is_finite(box.y1) && is_finite(box.x2) && is_finite(box.y2) &&
         is_finite(angle);
}

std::optional<Crop> checked(const Crop& crop) {
  const CropMap& map = crop.map;
  for (const float each : {map.xu, map.xv, map.x0, map.yu, map.yv, map.y0})
    if (!is_finite(each)) return std::nullopt;
  return crop;
}

std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view next_word(std::string_view& line) {
  constexpr std::string_view kBlanks = " \t\r";
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

template <class T>
bool read_number(std::string_view word, T& out) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  return !word.empty() && error == std::errc{} && end == word.data() + word.size();
}

std::unexpected<Error> bad_line(size_t number, std::string_view line, const char* expected) {
  return fail(ErrorKind::kInvalid, std::format("{} in line {} of a template", expected, number),
              std::format("\"{}\"", line), "write one keypoint per line, such as \"38.3 51.7\"");
}

}  // namespace

Result<CropPlan> plan_crops(const FrameForm& frame, uint32_t par_n, uint32_t par_d,
                            const InputForm& input) {
  KB_ASSIGN(const InputPlan plan, plan_input(frame, par_n, par_d, input, ResizeMode::kStretch));
  return CropPlan{frame, input, plan.rules, par_n, par_d};
}

OrientedBox enlarged(const OrientedBox& box, float factor) {
  const Box& b = box.box;
  const float x = (b.x2 - b.x1) * (factor - 1) / 2, y = (b.y2 - b.y1) * (factor - 1) / 2;
  return {{b.x1 - x, b.y1 - y, b.x2 + x, b.y2 + y}, box.angle};
}

std::optional<Crop> crop_of(const CropPlan& plan, const OrientedBox& box, ResizeMode mode) {
  Box area = box.box;
  if (!finite(area, box.angle)) return std::nullopt;
  if (box.angle == 0) area = clip(area, plan.frame.size);
  const double width = double{area.x2} - area.x1, height = double{area.y2} - area.y1;
  if (!(width >= 1 && height >= 1)) return std::nullopt;
  const Fitted fit = fitted(width, height, double(plan.par_n) / plan.par_d, plan.input.size, mode);
  // In the box's own axes: the upper left corner of fit.place shows the position fit.x, fit.y.
  const double u = fit.width / fit.place.width, v = fit.height / fit.place.height;
  const double left = fit.x - fit.place.x * u - width / 2;
  const double top = fit.y - fit.place.y * v - height / 2;
  const SinCos rotation = sin_cos_f32(box.angle);
  const double across = rotation.cos, down = rotation.sin;
  const double x = (double{area.x1} + area.x2) / 2, y = (double{area.y1} + area.y2) / 2;
  return checked({{.xu = float(u * across),
                   .xv = float(-v * down),
                   .x0 = float(x + left * across - top * down),
                   .yu = float(u * down),
                   .yv = float(v * across),
                   .y0 = float(y + left * down + top * across)},
                  fit.place});
}

const AlignTemplate& arcface_template() {
  static const AlignTemplate aligned{{112, 112},
                                     {{38.2946f, 51.6963f, true},
                                      {73.5318f, 51.5014f, true},
                                      {56.0252f, 71.7366f, true},
                                      {41.5493f, 92.3655f, true},
                                      {70.7299f, 92.2041f, true}}};
  return aligned;
}

Result<AlignTemplate> parse_template(std::string_view text) {
  AlignTemplate out;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = next_line(text);
    std::string_view rest = line;
    const std::string_view first = next_word(rest), second = next_word(rest);
    if (first.empty() || first.front() == '#') continue;
    const bool ended = next_word(rest).empty();
    if (out.size == Size{}) {
      if (!ended || !read_number(first, out.size.width) || !read_number(second, out.size.height) ||
          out.size.width == 0 || out.size.height == 0)
        return bad_line(number, line, "a width and a height");
      continue;
    }
    AlignTemplate::Point point{0, 0, first != "-"};
    const bool good = point.used ? read_number(first, point.x) && read_number(second, point.y) &&
                                       is_finite(point.x) && is_finite(point.y)
                                 : second.empty();
    if (!good || !ended) return bad_line(number, line, "two coordinates, or \"-\"");
    out.points.push_back(point);
  }
  if (std::ranges::count_if(out.points, &AlignTemplate::Point::used) < 2)
    return reject(ErrorKind::kInvalid, "The template has no size, or fewer than two keypoints",
                  "write one keypoint per line, such as \"38.3 51.7\"");
  return out;
}

namespace {

using Complex = std::complex<double>;

/// The map u -> factor * u + offset from the input to the frame.
struct Similarity {
  Complex factor, offset;
};

/// Returns the similarity whose inverse fits pairs best by least squares; nothing if they do not
/// determine it.
/// @param for_each calls a function with each pair: a keypoint of the frame, its place in the
/// input.
std::optional<Similarity> similarity(const auto& for_each) {
  Complex from_mean, to_mean;
  double count = 0;
  for_each([&](Complex from, Complex at) {
    from_mean += from;
    to_mean += at;
    ++count;
  });
  from_mean /= count;
  to_mean /= count;
  Complex product;
  double spread = 0;
  for_each([&](Complex from, Complex at) {
    product += std::conj(from - from_mean) * (at - to_mean);
    spread += std::norm(from - from_mean);
  });
  if (!(spread > 0) || !(std::norm(product) > 0)) return std::nullopt;
  const Complex factor = spread / product;
  return Similarity{factor, from_mean - factor * to_mean};
}

}  // namespace

std::optional<Crop> aligned_crop(const CropPlan& plan, std::span<const Keypoint> points,
                                 const AlignTemplate& to) {
  if (points.size() < to.points.size()) return std::nullopt;
  const Size input = plan.input.size;
  const double scale =
      std::min(double(input.width) / to.size.width, double(input.height) / to.size.height);
  const Complex begin{(input.width - to.size.width * scale) / 2,
                      (input.height - to.size.height * scale) / 2};
  // The template's coordinates are of pixel centres, the frame's of edges.
  const auto target = [&](const AlignTemplate::Point& point) {
    return Complex{point.x + 0.5, point.y + 0.5} * scale + begin;
  };
  const auto back = similarity([&](const auto& use) {
    for (size_t i = 0; i < to.points.size(); ++i)
      if (to.points[i].used) use(Complex{points[i].x, points[i].y}, target(to.points[i]));
  });
  if (!back) return std::nullopt;
  const auto& [rotation, start] = *back;
  return checked({{.xu = float(rotation.real()),
                   .xv = float(-rotation.imag()),
                   .x0 = float(start.real()),
                   .yu = float(rotation.imag()),
                   .yv = float(rotation.real()),
                   .y0 = float(start.imag())},
                  {0, 0, input.width, input.height}});
}

}  // namespace keepbox
