// SPDX-License-Identifier: LGPL-2.1-or-later
// Maps of pixels: products, inverses, boxes, and GStreamer's matrix transform.
#include "gst/metas/pixelmap.h"

#include <algorithm>
#include <cmath>

#include "core/formula/oriented.h"
#include "gst/base/functionbyname.h"

namespace keepbox {
namespace {

PixelMap moved(double x, double y) { return PixelMap::scale(1, 1, x, y); }

/// Returns how much further an edge is than in GStreamer's matrix, which maps the index of the
/// first pixel to that of the last.
double further(const std::array<double, 9>& rows, size_t row) {
  return -std::min(rows[row * 3], 0.0) - std::min(rows[row * 3 + 1], 0.0);
}

}  // namespace

Box around(const OrientedBox& in) {
  const Box& b = in.box;
  if (in.angle == 0) return b;
  const auto turn = PixelMap({std::cos(in.angle), -std::sin(in.angle), 0, std::sin(in.angle),
                              std::cos(in.angle), 0, 0, 0, 1});
  const float x = (b.x1 + b.x2) / 2, y = (b.y1 + b.y2) / 2;
  const Box out = turn(Box{b.x1 - x, b.y1 - y, b.x2 - x, b.y2 - y});
  return {out.x1 + x, out.y1 + y, out.x2 + x, out.y2 + y};
}

PixelMap PixelMap::scale(double x, double y, double dx, double dy) {
  return PixelMap({x, 0, dx, 0, y, dy, 0, 0, 1});
}

PixelMap PixelMap::of(const Letterbox& letterbox) {
  return scale(1 / double{letterbox.scale_x}, 1 / double{letterbox.scale_y}, letterbox.pad_x,
               letterbox.pad_y);
}

PixelMap PixelMap::then(const PixelMap& next) const {
  PixelMap out;
  for (size_t row = 0; row < 3; ++row)
    for (size_t column = 0; column < 3; ++column) {
      double sum = 0;
      for (size_t i = 0; i < 3; ++i) sum += next.m_[row * 3 + i] * m_[i * 3 + column];
      out.m_[row * 3 + column] = sum;
    }
  return out;
}

/// Inverts by cofactors.
std::optional<PixelMap> PixelMap::inverse() const {
  const auto minor = [this](size_t row, size_t column) {
    const size_t r1 = (row + 1) % 3, r2 = (row + 2) % 3, c1 = (column + 1) % 3,
                 c2 = (column + 2) % 3;
    return m_[r1 * 3 + c1] * m_[r2 * 3 + c2] - m_[r1 * 3 + c2] * m_[r2 * 3 + c1];
  };
  const double whole = m_[0] * minor(0, 0) + m_[1] * minor(0, 1) + m_[2] * minor(0, 2);
  if (!(std::abs(whole) > 0) || !std::isfinite(1 / whole)) return std::nullopt;
  PixelMap out;
  for (size_t row = 0; row < 3; ++row)
    for (size_t column = 0; column < 3; ++column)
      out.m_[row * 3 + column] = minor(column, row) / whole;
  return out;
}

PixelMap::Point PixelMap::point(double x, double y) const {
  const double w = m_[6] * x + m_[7] * y + m_[8];
  return {(m_[0] * x + m_[1] * y + m_[2]) / w, (m_[3] * x + m_[4] * y + m_[5]) / w};
}

Box PixelMap::operator()(Box box) const {
  const Point corners[] = {point(box.x1, box.y1), point(box.x2, box.y1), point(box.x1, box.y2),
                           point(box.x2, box.y2)};
  const auto [left, right] = std::ranges::minmax(corners, {}, &Point::x);
  const auto [top, bottom] = std::ranges::minmax(corners, {}, &Point::y);
  return {static_cast<float>(left.x), static_cast<float>(top.y), static_cast<float>(right.x),
          static_cast<float>(bottom.y)};
}

OrientedBox PixelMap::operator()(const OrientedBox& in) const {
  if (in.angle == 0) return {(*this)(in.box), 0};
  const double width = in.box.x2 - in.box.x1, height = in.box.y2 - in.box.y1;
  const Point middle{(double{in.box.x1} + in.box.x2) / 2, (double{in.box.y1} + in.box.y2) / 2};
  const double cosine = std::cos(in.angle), sine = std::sin(in.angle);
  const auto side = [&](double along_x, double along_y) {  // a side, mapped about the centre
    const Point a = point(middle.x - along_x / 2, middle.y - along_y / 2);
    const Point b = point(middle.x + along_x / 2, middle.y + along_y / 2);
    return Point{b.x - a.x, b.y - a.y};
  };
  const Point across = side(width * cosine, width * sine);
  const Point down = side(-height * sine, height * cosine);
  const Point center = point(middle.x, middle.y);
  const auto [w, h, angle] =
      sides_of(static_cast<float>(across.x), static_cast<float>(across.y),
               static_cast<float>(down.x), static_cast<float>(down.y), width >= height);
  return {{static_cast<float>(center.x - w / 2), static_cast<float>(center.y - h / 2),
           static_cast<float>(center.x + w / 2), static_cast<float>(center.y + h / 2)},
          angle};
}

double PixelMap::growth() const {
  return std::max(std::hypot(m_[0], m_[3]), std::hypot(m_[1], m_[4]));
}

std::optional<PixelMap> matrix_of(GQuark type, gpointer data) {
  if (type == 0 || type != g_quark_try_string("gst-video-matrix")) return std::nullopt;
  const auto& change = *static_cast<const MatrixTransform*>(data);
  std::array<double, 9> rows;
  for (size_t i = 0; i < 9; ++i) rows[i] = change.matrix[i / 3][i % 3];
  for (size_t row = 0; row < 2; ++row) rows[row * 3 + 2] += further(rows, row);
  return moved(-change.in_rectangle.x, -change.in_rectangle.y)
      .then(PixelMap(rows))
      .then(moved(change.out_rectangle.x, change.out_rectangle.y));
}

GQuark matrix_quark() {
  static const GQuark quark = [] {
    GQuark (*get)() = nullptr;
    return find_function(get, "gst_video_meta_transform_matrix_get_quark") ? get() : 0;
  }();
  return quark;
}

MatrixTransform matrix_transform(const PixelMap& map, const GstVideoInfo& from,
                                 const GstVideoInfo& to) {
  MatrixTransform out{&from, {0, 0, from.width, from.height}, &to, {0, 0, to.width, to.height}, {}};
  std::array<double, 9> rows = map.rows();
  for (size_t row = 0; row < 2; ++row) rows[row * 3 + 2] -= further(rows, row);
  for (size_t i = 0; i < 9; ++i) out.matrix[i / 3][i % 3] = static_cast<gfloat>(rows[i]);
  return out;
}

}  // namespace keepbox
