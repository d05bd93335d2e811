// SPDX-License-Identifier: LGPL-2.1-or-later
// boxoverlay: draws the boxes of a frame on the frame.
#include <gst/video/gstvideofilter.h>
#include <gst/video/video.h>

#include <cmath>
#include <format>
#include <string>
#include <vector>

#include "gst/base/elements.h"
#include "gst/base/error.h"
#include "gst/metas/analytics.h"
#include "gst/overlay/paint.h"
#include "gst/tensors/tensors.h"

GST_DEBUG_CATEGORY_STATIC(boxoverlay_debug);
#define GST_CAT_DEFAULT boxoverlay_debug

namespace keepbox {
namespace {

struct OverlayProps {
  gboolean draw_labels = TRUE, draw_scores = TRUE, draw_tracking_ids = TRUE;
  guint thickness = 0;     // 0: by the frame's size
  gdouble font_scale = 0;  // 0: by the frame's size
};

struct Overlay {
  OverlayProps props;  // under the object lock
  // The streaming thread's own:
  std::vector<FrameBox> boxes;
  std::vector<Mark> marks;
  Painter painter;
  bool warned = false;
};

}  // namespace
}  // namespace keepbox

struct KeepboxBoxOverlay {
  GstVideoFilter parent;
  keepbox::Overlay* overlay;
};
struct KeepboxBoxOverlayClass {
  GstVideoFilterClass parent_class;
};

using namespace keepbox;

GType keepbox_box_overlay_get_type();
G_DEFINE_TYPE(KeepboxBoxOverlay, keepbox_box_overlay, GST_TYPE_VIDEO_FILTER)
GST_ELEMENT_REGISTER_DEFINE(boxoverlay, "boxoverlay", GST_RANK_NONE, keepbox_box_overlay_get_type())

namespace {

enum { kDrawLabels = 1, kDrawScores, kDrawTrackingIds, kThickness, kFontScale };

constexpr guint kThickest = 256;
constexpr gdouble kLargestFont = 32;

KeepboxBoxOverlay* cast(gpointer object) { return reinterpret_cast<KeepboxBoxOverlay*>(object); }

/// The text in ASCII, all that the font has.
std::string ascii(const char* text) {
  g_autofree gchar* valid = g_utf8_make_valid(text, -1);
  g_autofree gchar* plain = g_str_to_ascii(valid, "C");
  return plain;
}

std::string caption(const FrameBox& box, const char* label, const OverlayProps& props) {
  std::string text;
  const auto add = [&text](const std::string& word) {
    if (!text.empty() && !word.empty()) text += ' ';
    text += word;
  };
  if (props.draw_labels) add(ascii(label));
  if (props.draw_tracking_ids && box.tracking_id) add(std::format("#{}", *box.tracking_id));
  if (props.draw_scores && std::isfinite(box.score)) add(std::format("{:.2f}", box.score));
  return text;
}

Mark mark_of(const FrameBox& box, const OverlayProps& props) {
  const char* quark = g_quark_to_string(box.label);
  const char* label = quark != nullptr ? quark : "";
  return {.box = box.box,
          .angle = box.angle,
          .color = class_color(label),
          .text = caption(box, label, props)};
}

GstFlowReturn transform_frame_ip(GstVideoFilter* filter, GstVideoFrame* frame) {
  KeepboxBoxOverlay* self = cast(filter);
  Overlay& o = *self->overlay;
  GST_OBJECT_LOCK(self);
  const OverlayProps props = o.props;
  GST_OBJECT_UNLOCK(self);
  Pen pen = pen_for({static_cast<uint32_t>(GST_VIDEO_FRAME_WIDTH(frame)),
                     static_cast<uint32_t>(GST_VIDEO_FRAME_HEIGHT(frame))});
  if (props.thickness != 0) pen.thickness = static_cast<int>(props.thickness);
  if (props.font_scale > 0) pen.font_scale = props.font_scale;
  o.marks.clear();
  for (const FrameBox& box : o.boxes) o.marks.push_back(mark_of(box, props));
  const Status status = o.painter.paint(*frame, o.marks, pen);
  if (!status && !o.warned) post_warning(GST_ELEMENT(self), status.error());
  o.warned = !status;
  return GST_FLOW_OK;
}

/// Only a frame with boxes has to be writable.
GstFlowReturn prepare_output_buffer(GstBaseTransform* base, GstBuffer* input, GstBuffer** output) {
  Overlay& o = *cast(base)->overlay;
  read_boxes(input, o.boxes);
  if (!o.boxes.empty()) return writable_with_tensors(base, input, output);
  *output = input;
  return GST_FLOW_OK;
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  if (cast(base)->overlay->boxes.empty()) return GST_FLOW_OK;
  return GST_BASE_TRANSFORM_CLASS(keepbox_box_overlay_parent_class)->transform_ip(base, buffer);
}

gboolean start(GstBaseTransform* base) {
  cast(base)->overlay->warned = false;
  return TRUE;
}

gboolean stop(GstBaseTransform* base) {
  Overlay& o = *cast(base)->overlay;
  o.painter = {};
  o.boxes.clear();
  o.marks.clear();
  return TRUE;
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  OverlayProps& props = cast(object)->overlay->props;
  GST_OBJECT_LOCK(object);
  switch (id) {
    case kDrawLabels: props.draw_labels = g_value_get_boolean(value); break;
    case kDrawScores: props.draw_scores = g_value_get_boolean(value); break;
    case kDrawTrackingIds: props.draw_tracking_ids = g_value_get_boolean(value); break;
    case kThickness: props.thickness = g_value_get_uint(value); break;
    case kFontScale: props.font_scale = g_value_get_double(value); break;
    default: G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
  GST_OBJECT_UNLOCK(object);
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  const OverlayProps& props = cast(object)->overlay->props;
  GST_OBJECT_LOCK(object);
  switch (id) {
    case kDrawLabels: g_value_set_boolean(value, props.draw_labels); break;
    case kDrawScores: g_value_set_boolean(value, props.draw_scores); break;
    case kDrawTrackingIds: g_value_set_boolean(value, props.draw_tracking_ids); break;
    case kThickness: g_value_set_uint(value, props.thickness); break;
    case kFontScale: g_value_set_double(value, props.font_scale); break;
    default: G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
  GST_OBJECT_UNLOCK(object);
}

void finalize(GObject* object) {
  delete cast(object)->overlay;
  G_OBJECT_CLASS(keepbox_box_overlay_parent_class)->finalize(object);
}

void install_properties(GObjectClass* object) {
  constexpr auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                  GST_PARAM_MUTABLE_PLAYING);
  const auto flag = [&](guint id, const char* name, const char* blurb) {
    g_object_class_install_property(object, id,
                                    g_param_spec_boolean(name, name, blurb, TRUE, flags));
  };
  flag(kDrawLabels, "draw-labels", "A tab at each box names its class.");
  flag(kDrawScores, "draw-scores", "A tab at each box shows its score.");
  flag(kDrawTrackingIds, "draw-tracking-ids",
       "A tab at each box shows its tracking id, where it has one.");
  g_object_class_install_property(
      object, kThickness,
      g_param_spec_uint("thickness", "thickness",
                        "Width of outlines in pixels; 0 goes by the size of the frame.", 0,
                        kThickest, 0, flags));
  g_object_class_install_property(
      object, kFontScale,
      g_param_spec_double("font-scale", "font-scale",
                          "Size of text, 1 for capitals of 21 pixels; 0 goes by the size of the "
                          "frame.",
                          0, kLargestFont, 0, flags));
}

}  // namespace

static void keepbox_box_overlay_init(KeepboxBoxOverlay* self) { self->overlay = new Overlay; }

static void keepbox_box_overlay_class_init(KeepboxBoxOverlayClass* klass) {
  auto* object = G_OBJECT_CLASS(klass);
  auto* element = GST_ELEMENT_CLASS(klass);
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(boxoverlay_debug, "boxoverlay", 0, "Drawing of boxes");

  object->set_property = set_property;
  object->get_property = get_property;
  object->finalize = finalize;
  install_properties(object);
  gst_element_class_set_static_metadata(
      element, "Detection box overlay", "Analyzer/Visualization/Video",
      "Draws the boxes on a frame (GstAnalyticsODMtd of any decoder) with class, score and "
      "tracking id, one colour for each class",
      "The keepbox developers");
  g_autoptr(GstCaps) caps = gst_caps_from_string(GST_VIDEO_CAPS_MAKE(KEEPBOX_PAINT_FORMATS));
  for (const auto& [name, direction] : {std::pair{"sink", GST_PAD_SINK}, {"src", GST_PAD_SRC}})
    gst_element_class_add_pad_template(
        element, gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps));
  transform->start = start;
  transform->stop = stop;
  transform->prepare_output_buffer = prepare_output_buffer;
  transform->transform_ip = transform_ip;
  GST_VIDEO_FILTER_CLASS(klass)->transform_frame_ip = transform_frame_ip;
}
