// SPDX-License-Identifier: LGPL-2.1-or-later
// Maps pixels of one picture to another, by the transforms that a buffer went through.
#include "gst/metas/pixelmap.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <utility>

#include "core/formula/oriented.h"
#include "gst/base/element.h"
#include "gst/base/library.h"

namespace keepbox {
namespace {

PixelMap moved(double x, double y) { return PixelMap::scale(1, 1, x, y); }

/// Returns how much further an edge is than in GStreamer's matrix, which maps the index of the
/// first pixel to that of the last.
double further(const std::array<double, 9>& rows, size_t row) {
  return -std::min(rows[row * 3], 0.0) - std::min(rows[row * 3 + 1], 0.0);
}

}  // namespace

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

std::optional<PixelMap> map_of_transform(GQuark type, gpointer data) {
  if (auto map = matrix_of(type, data)) return map;
  if (!GST_VIDEO_META_TRANSFORM_IS_SCALE(type)) return std::nullopt;
  const auto& change = *static_cast<const GstVideoMetaTransform*>(data);
  return PixelMap::scale(double{1} * change.out_info->width / std::max(change.in_info->width, 1),
                         double{1} * change.out_info->height / std::max(change.in_info->height, 1));
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

namespace {

struct InferredMeta {
  GstMeta meta;
  guint64 producer;
  PixelTransforms transforms;  // made and destroyed by init and release
};

InferredMeta* cast(GstMeta* meta) { return reinterpret_cast<InferredMeta*>(meta); }

gboolean init_inferred(GstMeta* meta, gpointer, GstBuffer*) {
  cast(meta)->producer = 0;
  new (&cast(meta)->transforms) PixelTransforms;
  return TRUE;
}

void release_inferred(GstMeta* meta, GstBuffer*) { std::destroy_at(&cast(meta)->transforms); }

gboolean extend_inferred(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer data);

GType inferred_api() {
  static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_ORIENTATION_STR,
                                GST_META_TAG_VIDEO_SIZE_STR, nullptr};
  static const GType type = meta_api("KeepboxInferredMetaAPI", sizeof(InferredMeta), tags);
  return type;
}

InferredMeta& add_inferred(GstBuffer* buffer) {
  static const GstMetaInfo* info =
      meta_info(inferred_api(), "KeepboxInferredMeta", sizeof(InferredMeta),
                {init_inferred, release_inferred, extend_inferred});
  return *cast(gst_buffer_add_meta(buffer, info, nullptr));
}

InferredMeta* find_inferred(GstBuffer* buffer, uint64_t producer) {
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(buffer, &state, inferred_api()))
    if (cast(meta)->producer == producer) return cast(meta);
  return nullptr;
}

gboolean extend_inferred(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type, gpointer data) {
  const bool copy = GST_META_TRANSFORM_IS_COPY(type);
  auto step = copy ? std::nullopt : step_of(type, data);
  if (!copy && !step) return FALSE;
  // The source may be in the same list of metas, which adding does not move.
  InferredMeta& added = add_inferred(to);
  added.producer = cast(meta)->producer;
  added.transforms = cast(meta)->transforms;
  if (step) added.transforms.push_back(std::move(*step));
  return TRUE;
}

bool same_shape(const Picture& a, const Picture& b) {
  return a.size == b.size && uint64_t{a.par_n} * b.par_d == uint64_t{b.par_n} * a.par_d;
}

}  // namespace

std::optional<PixelStep> step_of(GQuark type, gpointer data) {
  const auto step = [](const GstVideoInfo* from, const GstVideoInfo* to) {
    return PixelStep{picture_of(*from), picture_of(*to), std::nullopt};
  };
  if (const auto map = matrix_of(type, data)) {
    const auto& change = *static_cast<const MatrixTransform*>(data);
    PixelStep out = step(change.in_info, change.out_info);
    out.map = map;
    return out;
  }
  if (!GST_VIDEO_META_TRANSFORM_IS_SCALE(type)) return std::nullopt;
  const auto& change = *static_cast<const GstVideoMetaTransform*>(data);
  return step(change.in_info, change.out_info);
}

PixelMap map_of(PixelTransforms transforms, const Picture& now, ResizeMode mode) {
  // The last element scaled but only copied metas.
  if (const Picture last = transforms.back().to; last.size != now.size)
    transforms.push_back({last, now, std::nullopt});
  PixelMap map;
  for (const PixelStep& step : transforms) {
    if (step.map) map = map.then(*step.map);
    else if (!same_shape(step.from, step.to))
      map = map.then(PixelMap::of(make_letterbox(step.from, step.to, mode)));
  }
  return map;
}

void begin_transforms(GstBuffer* frame, uint64_t producer, const Picture& picture) {
  if (InferredMeta* there = find_inferred(frame, producer))
    gst_buffer_remove_meta(frame, &there->meta);
  InferredMeta& added = add_inferred(frame);
  added.producer = producer;
  added.transforms.push_back({picture, picture, PixelMap()});
}

std::optional<PixelMap> map_from_inferred(GstBuffer* buffer, uint64_t producer, const Picture& now,
                                          ResizeMode mode) {
  const InferredMeta* inferred = find_inferred(buffer, producer);
  if (inferred == nullptr) return std::nullopt;
  return map_of(inferred->transforms, now, mode);
}

bool is_pixel_transforms(GType api) { return api == inferred_api(); }

SharedProvenance moved_provenance(const SharedProvenance& source, Size from, Size to,
                                  const PixelMap& map) {
  TensorProvenance out = *source;
  const auto& m = map.rows();
  const bool upright = m[1] == 0 && m[3] == 0 && m[6] == 0 && m[7] == 0 && m[8] == 1;
  const auto on_picture = [&](const auto& each) {
    return moved(scaled_to(each, from), to, m[0], m[4], m[2], m[5]);
  };
  if (upright && m[0] > 0 && m[4] > 0) {
    out.geometry = on_picture(source->geometry);
    for (Tile& tile : out.tiles) tile = on_picture(tile);
  } else {
    out.geometry = {}, out.tiles.clear(), out.lost_geometry = true;
  }
  return std::make_shared<const TensorProvenance>(std::move(out));
}

}  // namespace keepbox
