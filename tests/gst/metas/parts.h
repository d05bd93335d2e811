// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes with keypoints and masks, as attached by decoders.
#pragma once

#include <vector>

#include "gst/metas/boxes.h"
#include "gst/metas/masks.h"
#include "gst/metas/records.h"
#include "tests/gst/frames.h"

namespace keepbox::test {

/// Makes a box whose record agrees with its detection.
inline FrameBox plain_box(const Box& box, float score = 0.5f) {
  return {.box = box,
          .score = score,
          .label = g_quark_from_string("thing"),
          .class_id = 3,
          .anchor = 9};
}

/// Makes a box with keypoints of a named set.
inline FrameBox with_points(const Box& box, std::span<const Keypoint> points, const PointSet& set) {
  FrameBox out = plain_box(box);
  out.keypoints = {points, set.edges, g_quark_from_string(std::string(set.name).c_str())};
  return out;
}

/// Attaches boxes and checks that it succeeds.
inline void attach(GstBuffer* frame, std::span<FrameBox> boxes, const AttachOptions& options = {}) {
  EXPECT_TRUE(attach_boxes(frame, boxes, options));
}

/// Sends the metas of a buffer to another, as unixfdsink and unixfdsrc do.
inline Buffer sent(GstBuffer* from) {
  g_autoptr(GByteArray) bytes = g_byte_array_new();
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta(from, &state))
    gst_meta_serialize_simple(meta, bytes);
  Buffer to(gst_buffer_new_allocate(nullptr, 64, nullptr));
  for (guint at = 0; at < bytes->len;) {
    guint32 used = 0;
    gst_meta_deserialize(to.get(), bytes->data + at, bytes->len - at, &used);
    if (used == 0) break;
    at += used;
  }
  return to;
}

/// Returns the rows of a mask one after the other; empty if it is not a mask.
inline std::vector<int> pixels_of(GstBuffer* mask) {
  std::vector<int> out;
  const MaskView view(mask);
  if (!view) return out;
  for (guint y = 0; y < view.height(); ++y)
    out.insert(out.end(), view.row(y), view.row(y) + view.width());
  return out;
}

/// Makes a mask like another decoder's. @return transfer full.
inline GstBuffer* foreign_mask(GstVideoFormat format, guint side, guint8 value) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, format, side, side);
  GstBuffer* out = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  gst_buffer_memset(out, 0, value, info.size);
  gst_buffer_add_video_meta(out, GST_VIDEO_FRAME_FLAG_NONE, format, side, side);
  return out;
}

/// Returns the mtds of a type that are related to one.
template <class Mtd>
std::vector<Mtd> related(GstAnalyticsRelationMeta* meta, guint id, GstAnalyticsMtdType type) {
  std::vector<Mtd> out;
  gpointer state = nullptr;
  Mtd mtd;
  while (gst_analytics_relation_meta_get_direct_related(
      meta, id, GST_ANALYTICS_REL_TYPE_ANY, type, &state, reinterpret_cast<GstAnalyticsMtd*>(&mtd)))
    out.push_back(mtd);
  return out;
}

/// Maps our mtds of that name in place, as GStreamer 1.28 does if a video element moves pixels.
inline void move_pixels(const Buffer& frame, const char* name, const PixelMap& map) {
  auto* meta = gst_buffer_get_analytics_relation_meta(frame.get());
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_RGB, 640, 640);
  MatrixTransform matrix = matrix_transform(map, info, info);
  gpointer state = nullptr;
  GstAnalyticsMtd mtd;
  const GstAnalyticsMtdImpl* impl = nullptr;
  while (gst_analytics_relation_meta_iterate(meta, &state, GST_ANALYTICS_MTD_TYPE_ANY, &mtd)) {
    impl = reinterpret_cast<const GstAnalyticsMtdImpl*>(gst_analytics_mtd_get_mtd_type(&mtd));
    if (std::string_view(impl->name) == name) break;
    impl = nullptr;
  }
  ASSERT_NE(impl, nullptr);
  EXPECT_TRUE(impl->mtd_meta_transform(frame.get(), &mtd, frame.get(),
                                       g_quark_from_string("gst-video-matrix"), &matrix));
}

}  // namespace keepbox::test
