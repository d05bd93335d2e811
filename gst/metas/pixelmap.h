// SPDX-License-Identifier: LGPL-2.1-or-later
// Maps pixels of one picture to another, by the transforms that a buffer went through.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/formula/box.h"
#include "core/formula/letterbox.h"
#include "gst/tensors/provenance.h"

namespace keepbox {

// Maps pixels between pictures, as GStreamer reports transforms to metas.

/// A map between the coordinates of two pictures: (x', y', w') = m (x, y, 1), with the rows of m in
/// sequence. With perspective, w' is not 1.
class PixelMap {
 public:
  PixelMap() = default;
  explicit PixelMap(const std::array<double, 9>& rows) : m_(rows) {}

  /// Returns a map that scales both axes by these factors and then translates.
  static PixelMap scale(double x, double y, double dx = 0, double dy = 0);
  /// Returns the map from the frame to the model's picture.
  static PixelMap of(const Letterbox& letterbox);

  /// Returns the map that applies this one first and then `next`.
  PixelMap then(const PixelMap& next) const;
  /// Returns the inverse; std::nullopt for a singular map.
  std::optional<PixelMap> inverse() const;

  struct Point {
    double x, y;
  };
  Point point(double x, double y) const;

  /// Returns the smallest upright box around the mapped corners.
  Box operator()(Box box) const;
  /// Returns the mapped centre, with sides and angle as in sides_of() of core/formula/oriented.h:
  /// exact if both axes are scaled equally, and for upright boxes if axes stay axes.
  OrientedBox operator()(const OrientedBox& box) const;

  /// Returns the maximum length that a distance of one pixel is mapped to. For maps without
  /// perspective.
  double growth() const;
  const std::array<double, 9>& rows() const { return m_; }

 private:
  std::array<double, 9> m_{1, 0, 0, 0, 1, 0, 0, 0, 1};
};

/// Returns the transform that GStreamer 1.28 passes to metas, or std::nullopt for other transforms.
/// Found by name, so that builds with 1.26 support it. GStreamer maps pixel indices: if it mirrors
/// an axis, edges are one further. @param type, data as passed to GstMetaTransformFunction.
std::optional<PixelMap> matrix_of(GQuark type, gpointer data);

/// Returns the map of a GStreamer transform: a matrix or a scale; std::nullopt for others.
std::optional<PixelMap> map_of_transform(GQuark type, gpointer data);

/// Offers a map to a function that takes GStreamer's transforms, as `f(GQuark, gpointer)`: first as
/// a matrix, if this GStreamer supports it, and if that returns false as a plain scale.
template <class Function>
bool offer(const PixelMap& map, GstVideoInfo& from, GstVideoInfo& to, Function f);

/// The layout of GstVideoMetaTransformMatrix of GStreamer 1.28, as passed by offer().
struct MatrixTransform {
  const GstVideoInfo* in_info;
  GstVideoRectangle in_rectangle;
  const GstVideoInfo* out_info;
  GstVideoRectangle out_rectangle;
  gfloat matrix[3][3];
};
/// Returns 0 before GStreamer 1.28.
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

// The transforms of a frame's pixels through elements that scale, crop, flip or rotate it.

/// A change of the picture's size or position.
struct PixelStep {
  Picture from, to;
  std::optional<PixelMap> map;  // if provided by GStreamer
};
using PixelTransforms = std::vector<PixelStep>;

/// Returns the step of a transform; std::nullopt for an unknown one. @param type, data as passed to
/// GstMetaTransformFunction.
std::optional<PixelStep> step_of(GQuark type, gpointer data);

/// Returns the map of all steps to the current picture. If GStreamer did not record how a scaler
/// fitted the picture, `mode` is used. @pre there is a step.
PixelMap map_of(PixelTransforms transforms, const Picture& now, ResizeMode mode);

/// Starts recording transforms on a frame that gets a producer's tensors, replacing an earlier
/// record. @param frame writable. @param picture from its caps.
void begin_transforms(GstBuffer* frame, uint64_t producer, const Picture& picture);

/// Returns the map from the frame that the producer saw to the buffer's picture; std::nullopt if it
/// recorded none, or an element dropped the record.
std::optional<PixelMap> map_from_inferred(GstBuffer* buffer, uint64_t producer, const Picture& now,
                                          ResizeMode mode);

/// True for the meta that records transforms.
bool is_pixel_transforms(GType api);

/// Returns a source of tensors for the picture after the map; geometry is marked as lost if it is
/// not a scale and an offset. @param from size of the picture before the map.
SharedProvenance moved_provenance(const SharedProvenance& source, Size from, Size to,
                                  const PixelMap& map);

}  // namespace keepbox
