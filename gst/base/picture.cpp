// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads only some fields of caps, because GstVideoInfo rejects unknown formats.
#include "gst/base/picture.h"

#include <gst/video/video.h>

#include <algorithm>

namespace keepbox {
namespace {

Size chroma_of(const GstVideoFormatInfo* info) {
  return {1u << GST_VIDEO_FORMAT_INFO_W_SUB(info, 1), 1u << GST_VIDEO_FORMAT_INFO_H_SUB(info, 1)};
}

const GstVideoFormatInfo* format_of(const char* name) {
  return gst_video_format_get_info(name != nullptr ? gst_video_format_from_string(name)
                                                   : GST_VIDEO_FORMAT_UNKNOWN);
}

}  // namespace

std::optional<Picture> picture_of(const GstCaps* caps) {
  const GstStructure* fields = gst_caps_get_structure(caps, 0);
  gint width = 0, height = 0, par_n = 1, par_d = 1;
  if (!gst_structure_get_int(fields, "width", &width) ||
      !gst_structure_get_int(fields, "height", &height) || width < 1 || height < 1)
    return std::nullopt;
  gst_structure_get_fraction(fields, "pixel-aspect-ratio", &par_n, &par_d);
  return Picture{.size = {static_cast<uint32_t>(width), static_cast<uint32_t>(height)},
                 .par_n = static_cast<uint32_t>(std::max(par_n, 1)),
                 .par_d = static_cast<uint32_t>(std::max(par_d, 1)),
                 .chroma = chroma_of(format_of(gst_structure_get_string(fields, "format")))};
}

Picture picture_of(const GstVideoInfo& info) {
  return {.size = {static_cast<uint32_t>(info.width), static_cast<uint32_t>(info.height)},
          .par_n = static_cast<uint32_t>(std::max(info.par_n, 1)),
          .par_d = static_cast<uint32_t>(std::max(info.par_d, 1)),
          .chroma = chroma_of(info.finfo)};
}

bool read_size(const GstCaps* caps, Size& size) {
  const auto picture = picture_of(caps);
  if (picture) size = picture->size;
  return picture.has_value();
}

void add_templates(gpointer klass, GstCaps* caps, GstPadPresence sink) {
  auto* element = GST_ELEMENT_CLASS(klass);
  gst_element_class_add_pad_template(element,
                                     gst_pad_template_new("sink", GST_PAD_SINK, sink, caps));
  gst_element_class_add_pad_template(
      element, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
}

void add_video_templates(gpointer klass, GstPadPresence sink) {
  g_autoptr(GstCaps) caps = gst_caps_from_string("video/x-raw(ANY)");
  add_templates(klass, caps, sink);
}

}  // namespace keepbox
