// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures of a frame that a model is run on, and the form of its pixels.
#include "gst/infer/run/pictures.h"

#include <algorithm>
#include <utility>

namespace keepbox {
namespace {

bool of_plain_bytes(const GstVideoFormatInfo& format, size_t components) {
  constexpr unsigned kOther =
      GST_VIDEO_FORMAT_FLAG_COMPLEX | GST_VIDEO_FORMAT_FLAG_PALETTE | GST_VIDEO_FORMAT_FLAG_TILED;
  if ((format.flags & kOther) != 0 || format.bits != 8 || format.n_components < components)
    return false;
  for (size_t i = 0; i < components; ++i)
    if (format.depth[i] != 8 || format.shift[i] != 0 || format.pixel_stride[i] < 1) return false;
  return true;
}

FrameComponent component_of(const GstVideoInfo& info, size_t index) {
  const GstVideoFormatInfo& format = *info.finfo;
  const auto sub_x = static_cast<uint8_t>(1u << format.w_sub[index]);
  const auto sub_y = static_cast<uint8_t>(1u << format.h_sub[index]);
  const auto shift = [&](unsigned cosited, uint8_t sub) {
    return (info.chroma_site & cosited) != 0 ? 0.5f / static_cast<float>(sub) : 0.5f;
  };
  return {.plane = static_cast<uint8_t>(format.plane[index]),
          .offset = static_cast<uint8_t>(format.poffset[index]),
          .step = static_cast<uint8_t>(format.pixel_stride[index]),
          .sub_x = sub_x,
          .sub_y = sub_y,
          .shift_x = shift(GST_VIDEO_CHROMA_SITE_H_COSITED, sub_x),
          .shift_y = shift(GST_VIDEO_CHROMA_SITE_V_COSITED, sub_y)};
}

/// Returns the matrix from components of 0..1 (second and third of YUV -0.5..0.5) to colours of
/// 0..1.
std::array<std::array<double, 3>, 3> colours_of(const GstVideoInfo& info) {
  if (!GST_VIDEO_FORMAT_INFO_IS_YUV(info.finfo)) return {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  double kr = 0, kb = 0;
  if (!gst_video_color_matrix_get_Kr_Kb(info.colorimetry.matrix, &kr, &kb))
    gst_video_color_matrix_get_Kr_Kb(GST_VIDEO_COLOR_MATRIX_BT601, &kr, &kb);
  const double kg = 1 - kr - kb;
  return {{{1, 0, 2 * (1 - kr)},
           {1, -2 * kb * (1 - kb) / kg, -2 * kr * (1 - kr) / kg},
           {1, 2 * (1 - kb), 0}}};
}

}  // namespace

Result<FrameForm> frame_form_of(const GstVideoInfo& info) {
  const GstVideoFormatInfo& format = *info.finfo;
  const bool grey = GST_VIDEO_FORMAT_INFO_IS_GRAY(&format);
  const bool coloured =
      GST_VIDEO_FORMAT_INFO_IS_RGB(&format) || GST_VIDEO_FORMAT_INFO_IS_YUV(&format);
  if ((!grey && !coloured) || !of_plain_bytes(format, grey ? 1 : 3))
    return fail(ErrorKind::kUnsupported, "video with 8 bits per sample", format.name,
                "put videoconvert before tensorinfer");
  FrameForm form{.size = {static_cast<uint32_t>(info.width), static_cast<uint32_t>(info.height)},
                 .planes = static_cast<uint8_t>(format.n_planes)};
  // Uses full range if the caps have no range.
  gint offset[GST_VIDEO_MAX_COMPONENTS], scale[GST_VIDEO_MAX_COMPONENTS];
  gst_video_color_range_offsets(info.colorimetry.range, &format, offset, scale);
  const auto colours = colours_of(info);
  for (size_t i = 0; i < 3; ++i) {
    const size_t from = grey ? 0 : i;
    form.components[i] = component_of(info, from);
    for (size_t row = 0; row < 3; ++row) {
      const double factor = colours[row][i] * 255 / scale[from];
      form.matrix[row][i] = static_cast<float>(factor);
      form.matrix[row][3] -= static_cast<float>(factor * offset[from]);
    }
  }
  return form;
}

Status MappedFrame::map(GstBuffer* buffer, const GstVideoInfo& info, GstMapFlags flags) {
  mapped_ = gst_video_frame_map(&frame_, &info, buffer, flags);
  if (mapped_) return {};
  return reject(ErrorKind::kTruncated, "The frame cannot be mapped for reading",
                "see the log of the upstream element");
}

FramePlanes planes_of(const GstVideoFrame& frame) {
  FramePlanes planes;
  const auto count = std::min<size_t>(GST_VIDEO_FRAME_N_PLANES(&frame), FramePlanes::kMax);
  for (size_t i = 0; i < count; ++i) {
    planes.data[i] = static_cast<const uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, i));
    planes.stride[i] = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, i);
  }
  return planes;
}

GstCaps* frame_form_caps() {
  constexpr const char* kFormats =
      "{ RGB, BGR, RGBx, BGRx, xRGB, xBGR, RGBA, BGRA, ARGB, ABGR, NV12, I420, NV21, YV12, Y42B, "
      "Y444, "
      "YUY2, UYVY, RGBP, BGRP, GBR, GRAY8 }";
  g_autofree gchar* text = g_strdup_printf(
      "video/x-raw(memory:CUDAMemory), format=(string)%s, width=(int)[1, max], height=(int)[1, "
      "max]; "
      "video/x-raw, format=(string)%s, width=(int)[1, max], height=(int)[1, max]",
      kFormats, kFormats);
  return gst_caps_from_string(text);
}

namespace {

Result<std::vector<PixelArea>> areas_of(const Picture& frame, const TileGrid& grid) {
  if (!grid.any()) return std::vector<PixelArea>{{0, 0, frame.size}};
  return tile_areas(frame, grid);
}

}  // namespace

Result<Picture> leading_picture(const Picture& frame, const TileGrid& grid) {
  KB_ASSIGN(const std::vector<PixelArea> areas, areas_of(frame, grid));
  Picture out = frame;
  out.size = areas.front().size;
  return out;
}

Result<Pictures> plan_pictures(const FrameForm& form, const Picture& frame, const TileGrid& grid,
                               const InputForm& input, ResizeMode mode) {
  KB_ASSIGN(const std::vector<PixelArea> areas, areas_of(frame, grid));
  Pictures out;
  for (const PixelArea& area : areas) {
    FrameForm part = form;
    part.size = area.size;
    KB_ASSIGN(InputPlan plan, plan_input(part, frame.par_n, frame.par_d, input, mode));
    if (grid.any()) out.tiles.push_back(tile_of(area, frame.size, plan.letterbox));
    out.plans.push_back({std::move(plan), area});
  }
  out.max_pictures = static_cast<unsigned>(out.plans.size());
  out.geometry = grid.any() ? out.tiles.front().letterbox : out.plans.front().plan.letterbox;
  return out;
}

Result<Pictures> plan_objects(const FrameForm& form, const Picture& frame, unsigned max_pictures,
                              const InputForm& input) {
  Pictures out;
  KB_ASSIGN(out.crops, plan_crops(form, frame.par_n, frame.par_d, input));
  out.max_pictures = max_pictures;
  out.geometry = {.frame = input.size, .model = input.size};
  return out;
}

}  // namespace keepbox
