// SPDX-License-Identifier: LGPL-2.1-or-later
// Names, caps and frame times that elements share.
#include "gst/base/element.h"

#include <algorithm>
#include <cstring>

#include "gst/base/error.h"

namespace keepbox {

void install_stats(GObjectClass* klass, guint id, const char* blurb) {
  g_object_class_install_property(
      klass, id,
      g_param_spec_boxed("stats", "stats", blurb, GST_TYPE_STRUCTURE,
                         static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
}

void describe(gpointer klass, const char* name, const char* kind, const char* description) {
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(klass), name, kind, description,
                                        "The keepbox developers");
}

GstPad* add_pad(GstElement* element, const char* name) {
  auto* klass = GST_ELEMENT_GET_CLASS(element);
  GstPad* pad = gst_pad_new_from_template(gst_element_class_get_pad_template(klass, name), name);
  gst_element_add_pad(element, pad);
  return pad;
}

void PostedError::post(GstElement* element, const Error& error, std::source_location where) {
  posted_ = true;
  post_error(element, error, where);
}

bool PostedError::check(GstElement* element, const Status& status, std::source_location where) {
  if (!status) post(element, status.error(), where);
  return status.has_value();
}

bool PostedError::take(GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) clear();
  if (GST_EVENT_TYPE(event) != GST_EVENT_EOS || !posted_) return false;
  gst_event_unref(event);
  return true;
}

namespace {

constexpr const char* kPrefix = "keepbox";

GQuark parent_quark() { return g_quark_from_static_string("keepbox-parent-class"); }

/// @param type one that is named by its factory, or a subclass of it.
GObjectClass* parent_class(GType type) {
  while (g_type_get_qdata(type, parent_quark()) == nullptr) type = g_type_parent(type);
  return static_cast<GObjectClass*>(g_type_get_qdata(type, parent_quark()));
}

/// True for the type's name and a number.
bool is_default(const char* name, GType type) {
  g_autofree gchar* lower = g_ascii_strdown(g_type_name(type), -1);
  if (!g_str_has_prefix(name, kPrefix) || !g_str_has_prefix(name, lower)) return false;
  const char* number = name + std::strlen(lower);
  return *number != '\0' && std::strspn(number, "0123456789") == std::strlen(number);
}

/// True if the caller gives a name.
bool has_name(guint count, const GObjectConstructParam* params) {
  for (guint i = 0; i < count; ++i)
    if (g_str_equal(params[i].pspec->name, "name"))
      return g_value_get_string(params[i].value) != nullptr;
  return false;
}

GObject* construct(GType type, guint count, GObjectConstructParam* params) {
  const bool named = has_name(count, params);
  GObject* object = parent_class(type)->constructor(type, count, params);
  g_autofree gchar* name = gst_object_get_name(GST_OBJECT(object));
  if (!named && is_default(name, type))
    gst_object_set_name(GST_OBJECT(object), name + std::strlen(kPrefix));
  return object;
}

}  // namespace

void name_by_factory(gpointer klass) {
  g_type_set_qdata(G_OBJECT_CLASS_TYPE(klass), parent_quark(), g_type_class_peek_parent(klass));
  G_OBJECT_CLASS(klass)->constructor = construct;
}

namespace {

constexpr int64_t kUsualInterval = GST_SECOND / 30;  // as the trackers' own

}  // namespace

int64_t interval_of(const GstCaps* caps) {
  gint n = 0, d = 1;
  const GstStructure* fields = gst_caps_get_structure(caps, 0);
  if (!gst_structure_get_fraction(fields, "framerate", &n, &d) || n <= 0 || d <= 0) return 0;
  return std::max<int64_t>(1, static_cast<int64_t>(gst_util_uint64_scale_int(GST_SECOND, d, n)));
}

int64_t running_time_after(int64_t last, int64_t interval, const GstSegment& segment,
                           GstBuffer* buffer) {
  if (segment.format == GST_FORMAT_TIME) {
    const GstClockTime running =
        gst_segment_to_running_time(&segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
    if (GST_CLOCK_TIME_IS_VALID(running)) return static_cast<int64_t>(running);
  }
  return last + (interval > 0 ? interval : kUsualInterval);
}

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
