// SPDX-License-Identifier: LGPL-2.1-or-later
// Where a video element moved the pixels of a picture, as GStreamer tells its metas.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <array>
#include <optional>

#include "core/box.h"
#include "core/letterbox.h"

namespace keepbox {

/// A turned rectangle by its centre, sides and angle: what a box with an angle is.
struct TurnedBox {
  Box box;          // as if upright about the same centre
  float angle = 0;  // radians, clockwise
};

/// The smallest upright box around it.
Box around(const TurnedBox& box);

/// A map from the coordinates of one picture to those of another: (x', y', w') = m (x, y, 1), the
/// rows of m one after the other. Of pictures that are seen from another side, w' is not 1.
class PixelMap {
 public:
  PixelMap() = default;
  explicit PixelMap(const std::array<double, 9>& rows) : m_(rows) {}

  /// Both axes scaled by those factors and then moved.
  static PixelMap scale(double x, double y, double dx = 0, double dy = 0);
  /// From the frame to the model's picture.
  static PixelMap of(const Letterbox& letterbox);

  /// First this, then `next`.
  PixelMap then(const PixelMap& next) const;
  /// The way back; nothing for a map that is singular.
  std::optional<PixelMap> inverse() const;

  struct Point {
    double x, y;
  };
  Point point(double x, double y) const;

  /// The smallest upright box around the mapped corners.
  Box operator()(Box box) const;
  /// The mapped centre, and sides and angle as sides_of() in core/turned.h has them: exact where
  /// both axes are scaled alike, and for upright boxes where axes stay axes.
  TurnedBox operator()(const TurnedBox& box) const;

  /// The most that a distance of one pixel becomes. For maps without perspective.
  double growth() const;
  const std::array<double, 9>& rows() const { return m_; }

 private:
  std::array<double, 9> m_{1, 0, 0, 0, 1, 0, 0, 0, 1};
};

/// The transform that GStreamer 1.28 passes to metas, or nothing for another one. Found by name, so
/// that what is built with 1.26 knows it. GStreamer maps the numbers of pixels: where it mirrors an
/// axis, edges lie one further. @param type, data as GstMetaTransformFunction gets them.
std::optional<PixelMap> matrix_of(GQuark type, gpointer data);

/// Offers a map to a function that takes GStreamer's transforms, as `f(GQuark, gpointer)`: first as
/// a matrix where this GStreamer has that, and if it returns false as a plain scale.
template <class Function>
bool offer(const PixelMap& map, GstVideoInfo& from, GstVideoInfo& to, Function f);

/// What offer() passes on: the same layout as GstVideoMetaTransformMatrix of GStreamer 1.28.
struct MatrixTransform {
  const GstVideoInfo* in_info;
  GstVideoRectangle in_rectangle;
  const GstVideoInfo* out_info;
  GstVideoRectangle out_rectangle;
  gfloat matrix[3][3];
};
/// 0 before GStreamer 1.28.
GQuark matrix_quark();
MatrixTransform matrix_transform(const PixelMap& map, const GstVideoInfo& from,
                                 const GstVideoInfo& to);

template <class Function>
bool offer(const PixelMap& map, GstVideoInfo& from, GstVideoInfo& to, Function f) {
  if (const GQuark quark = matrix_quark(); quark != 0) {
    MatrixTransform matrix = matrix_transform(map, from, to);
    if (f(quark, &matrix)) return true;
  }
  GstVideoMetaTransform plain{&from, &to};
  return f(gst_video_meta_transform_scale_get_quark(), &plain);
}

}  // namespace keepbox
