// SPDX-License-Identifier: LGPL-2.1-or-later
// boxoverlay: draws the boxes of a frame on the frame.
/**
 * SECTION:element-boxoverlay
 * @title: boxoverlay
 * @see_also: boxdecode, boxtrack, framerestore, objectdetectionoverlay
 *
 * Draws the boxes of a frame (#GstAnalyticsODMtd of boxdecode or any other decoder, upright and
 * oriented) onto it, in place, with labels for class, tracking id and score, and with keypoints and
 * masks of boxes that have them. Frames without boxes pass unchanged.
 *
 * Each class has its own colour, by its number or else by its name. Colours of consecutive classes,
 * and of the first eight, can be told apart with every kind of colour vision. Labels of boxes with
 * higher scores are placed first.
 *
 * With blur or pixelate, objects of some classes are made unrecognisable before anything is drawn.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc ! framesave ! videoconvertscale
 *     ! video/x-raw,format=RGB,width=320,height=320,pixel-aspect-ratio=1/1
 *     ! onnxinference model-file=shapes.onnx ! boxdecode label-file=shapes.labels ! framerestore
 *     ! videoconvert ! boxoverlay ! videoconvert ! autovideosink
 * ]| Boxes of a model on full frames, in colours by class.
 * |[
 * gst-launch-1.0 ... ! boxtrack ! boxoverlay color-by=tracking-id draw-trails=2 ! ...
 * ]| After a tracker such as boxtrack: one colour per object.
 * |[
 * gst-launch-1.0 ... ! boxtrack ! boxoverlay blur=person draw-boxes=false draw-labels=false
 *     draw-scores=false draw-tracking-ids=false blur-lost=1 ! ...
 * ]| People are blurred, and stay so for a second where a frame does not have their box.
 */
#include <gst/video/gstvideofilter.h>
#include <gst/video/video.h>

#include <algorithm>
#include <cmath>
#include <format>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gst/base/element.h"
#include "gst/base/elements.h"
#include "gst/base/error.h"
#include "gst/base/picture.h"
#include "gst/metas/readboxes.h"
#include "gst/overlay/captions.h"
#include "gst/overlay/colors.h"
#include "gst/overlay/obscure.h"
#include "gst/overlay/overlayprops.h"
#include "gst/overlay/paint.h"
#include "gst/overlay/privacy.h"
#include "gst/tensors/tensors.h"

GST_DEBUG_CATEGORY_STATIC(boxoverlay_debug);
#define GST_CAT_DEFAULT boxoverlay_debug

namespace keepbox {
namespace {

struct State : TableProps<OverlayProps, overlay_properties> {
  // The streaming thread's own:
  std::vector<FrameBox> boxes;  // of the input buffer, which outlives the drawing
  PointStore points;
  std::vector<Mark> marks;
  Trails trails;
  Colors colors;
  Painter painter;
  Privacy privacy;
  std::vector<ObscuredBox> obscured;  // on the input buffer
  PaintScratch scratch;
  bool warned = false;
};

}  // namespace
}  // namespace keepbox

KEEPBOX_DEFINE_ELEMENT(boxoverlay, KeepboxBoxOverlay, keepbox_box_overlay, GstVideoFilter,
                       GST_TYPE_VIDEO_FILTER)

using namespace keepbox;

namespace {

/// Converts a text to ASCII, the only characters of the font.
std::string ascii(std::string_view text) {
  g_autofree gchar* valid = g_utf8_make_valid(text.data(), static_cast<gssize>(text.size()));
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
  if (!props.draw_attributes) return text;
  for (const BoxLabel& each : box.labels)
    if (each.text != label || !props.draw_labels) add(ascii(each.text));
  return text;
}

Mark mark_of(const FrameBox& box, const OverlayProps& props, Colors& colors, const Trails& trails) {
  const char* quark = g_quark_to_string(box.label);
  const Rgb own = colors.of(box, static_cast<ColorBy>(props.color_by));
  return {.box = box.box,
          .angle = box.angle,
          .score = std::isnan(box.score) ? -std::numeric_limits<float>::infinity() : box.score,
          .color = props.color != 0 ? rgb(props.color) : own,
          .text = caption(box, quark != nullptr ? quark : "", props),
          .points = props.draw_keypoints ? box.points : FramePoints{},
          .mask = props.draw_masks ? box.mask : FrameMask{},
          .trail = trails.of(box)};
}

Pen pen_of(const OverlayProps& props, const GstVideoFrame& frame) {
  Pen pen = pen_for({static_cast<uint32_t>(GST_VIDEO_FRAME_WIDTH(&frame)),
                     static_cast<uint32_t>(GST_VIDEO_FRAME_HEIGHT(&frame))});
  if (props.thickness != 0) pen.thickness = static_cast<int>(props.thickness);
  if (props.font_scale > 0) pen.font_scale = props.font_scale;
  pen.placement = static_cast<LabelPlacement>(props.placement);
  pen.outlines = props.draw_boxes;
  pen.keypoint_threshold = props.keypoint_threshold;
  return pen;
}

/// Posts an error, because a frame on which nothing is obscured must not be shown.
bool obscure_boxes(GstVideoFilter* filter, GstVideoFrame* frame, const OverlayProps& props) {
  State& o = Self::of(filter);
  if (o.obscured.empty()) return true;
  const ObscuringSize size{.strength = props.blur_strength, .margin = props.blur_margin};
  const Status status = obscure(*frame, o.obscured, size, o.scratch);
  if (!status) post_error(GST_ELEMENT(filter), status.error());
  return status.has_value();
}

GstFlowReturn transform_frame_ip(GstVideoFilter* filter, GstVideoFrame* frame) {
  State& o = Self::of(filter);
  const OverlayProps props = locked_copy(filter, o.props);
  if (!obscure_boxes(filter, frame, props)) return GST_FLOW_ERROR;
  o.marks.clear();
  for (const FrameBox& box : o.boxes) o.marks.push_back(mark_of(box, props, o.colors, o.trails));
  std::ranges::stable_sort(o.marks, std::greater{}, &Mark::score);
  const Status status = o.painter.paint(*frame, o.marks, pen_of(props, *frame));
  if (!status && !o.warned) post_warning(GST_ELEMENT(filter), status.error());
  o.warned = !status;
  GST_LOG_OBJECT(filter, "%zu boxes, %zu labels without a place", o.marks.size(),
                 o.painter.left_out());
  return GST_FLOW_OK;
}

void add_to_trails(State& o, const OverlayProps& props, GstClockTime time) {
  const auto length = static_cast<GstClockTime>(props.draw_trails * GST_SECOND);
  if (length == 0) return o.trails.clear();
  o.trails.add(o.boxes, time, length);
}

bool is_unchanged(const State& o) { return o.boxes.empty() && o.obscured.empty(); }

/// Copies a frame only if it is drawn on. A GAP buffer may have boxes but no picture.
GstFlowReturn prepare_output_buffer(GstBaseTransform* base, GstBuffer* input, GstBuffer** output) {
  State& o = Self::of(base);
  const GstVideoInfo& info = GST_VIDEO_FILTER(base)->in_info;
  read_boxes(input, o.boxes, &o.points,
             {static_cast<uint32_t>(info.width), static_cast<uint32_t>(info.height)});
  const OverlayProps props = locked_copy(base, o.props);
  // Stream time repeats what a seek repeats.
  const GstClockTime time =
      gst_segment_to_stream_time(&base->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(input));
  add_to_trails(o, props, time);
  o.privacy.choose(o.boxes, props, time, o.obscured);
  for (const Error& error : o.privacy.take_warnings()) post_warning(GST_ELEMENT(base), error);
  if (gst_buffer_n_memory(input) == 0) o.boxes.clear(), o.obscured.clear();
  if (!is_unchanged(o)) return writable_with_tensors(base, input, output);
  *output = input;
  return GST_FLOW_OK;
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  if (is_unchanged(Self::of(base))) return GST_FLOW_OK;
  return Self::parent_as<GstBaseTransformClass>()->transform_ip(base, buffer);
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS)
    for (const Error& error : Self::of(base).privacy.unused())
      post_warning(GST_ELEMENT(base), error);
  return Self::parent_as<GstBaseTransformClass>()->sink_event(base, event);
}

/// Forgets places in a picture of another size.
gboolean set_info(GstVideoFilter* filter, GstCaps*, GstVideoInfo* now, GstCaps*, GstVideoInfo*) {
  const GstVideoInfo& before = filter->in_info;  // still that of the earlier caps
  if (now->width != before.width || now->height != before.height)
    Self::of(filter).privacy.forget_places();
  return TRUE;
}

gboolean start(GstBaseTransform* base) {
  Self::of(base).warned = false;
  return TRUE;
}

gboolean stop(GstBaseTransform* base) {
  State& o = Self::of(base);
  o.painter = {};
  o.trails.clear();
  o.colors = {};
  o.boxes.clear();
  o.marks.clear();
  o.privacy = {};
  o.obscured.clear();
  o.scratch = {};
  return TRUE;
}

}  // namespace

static void keepbox_box_overlay_init(KeepboxBoxOverlay* self) { self->make_state(); }

static void keepbox_box_overlay_class_init(KeepboxBoxOverlayClass* klass) {
  auto* object = G_OBJECT_CLASS(klass);
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(boxoverlay_debug, "boxoverlay", 0, "drawing of boxes on frames");

  Self::set_up(klass);
  overlay_properties().install(object);
  describe(
      klass, "Detection box overlay", "Analyzer/Visualization/Video",
      "Draws the boxes on a frame (GstAnalyticsODMtd of any decoder) in one colour per class, with "
      "masks and keypoints, labelled with class, score and tracking id");
  g_autoptr(GstCaps) caps = gst_caps_from_string(GST_VIDEO_CAPS_MAKE(KEEPBOX_PAINT_FORMATS));
  add_templates(klass, caps);
  transform->start = start;
  transform->stop = stop;
  transform->prepare_output_buffer = prepare_output_buffer;
  transform->transform_ip = transform_ip;
  transform->sink_event = sink_event;
  GST_VIDEO_FILTER_CLASS(klass)->transform_frame_ip = transform_frame_ip;
  GST_VIDEO_FILTER_CLASS(klass)->set_info = set_info;
}
