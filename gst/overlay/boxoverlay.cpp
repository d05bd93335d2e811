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
 * Frames in CUDA memory are drawn on where they are, with the same pixels: coverage of letters,
 * masks and slanted lines is computed on the CPU and blended on the GPU. Of objects to blur, the
 * area of each is copied to the CPU and back.
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
#include <functional>
#include <memory>
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
#include "gst/overlay/marks.h"
#include "gst/overlay/obscure.h"
#include "gst/overlay/overlayprops.h"
#include "gst/overlay/paint.h"
#include "gst/overlay/privacy.h"
#include "gst/overlay/raster/cudaraster.h"
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
  std::unique_ptr<DeviceRasters> device;  // if a frame was in device memory
  bool device_failed = false;
  bool mapped = false;  // the frame, on the host
  bool warned = false;
};

}  // namespace
}  // namespace keepbox

KEEPBOX_DEFINE_ELEMENT(boxoverlay, KeepboxBoxOverlay, keepbox_box_overlay, GstVideoFilter,
                       GST_TYPE_VIDEO_FILTER)

using namespace keepbox;

namespace {

Pen pen_of(const OverlayProps& props, const GstVideoInfo& info) {
  Pen pen = pen_for({static_cast<uint32_t>(GST_VIDEO_INFO_WIDTH(&info)),
                     static_cast<uint32_t>(GST_VIDEO_INFO_HEIGHT(&info))});
  if (props.thickness != 0) pen.thickness = static_cast<int>(props.thickness);
  if (props.font_scale > 0) pen.font_scale = props.font_scale;
  pen.placement = static_cast<LabelPlacement>(props.placement);
  pen.outlines = props.draw_boxes;
  pen.keypoint_threshold = props.keypoint_threshold;
  return pen;
}

/// Obscures and draws. Returns an error only if nothing was obscured, because such a frame must not
/// be shown.
Status draw(GstVideoFilter* filter, const GstVideoInfo& info, Canvas& canvas) {
  State& o = Self::of(filter);
  const OverlayProps props = locked_copy(filter, o.props);
  const ObscuringSize size{.strength = props.blur_strength, .margin = props.blur_margin};
  if (!o.obscured.empty()) KB_TRY(obscure(canvas, o.obscured, size, o.scratch));
  o.marks.clear();
  for (const FrameBox& box : o.boxes) o.marks.push_back(mark_of(box, props, o.colors, o.trails));
  std::ranges::stable_sort(o.marks, std::greater{}, &Mark::score);
  const Status status = o.painter.paint(canvas, o.marks, pen_of(props, info));
  if (!status && !o.warned) post_warning(GST_ELEMENT(filter), status.error());
  o.warned = !status;
  GST_LOG_OBJECT(filter, "%zu boxes, %zu labels without a place", o.marks.size(),
                 o.painter.left_out());
  return {};
}

GstFlowReturn flow_of(GstVideoFilter* filter, const Status& status) {
  if (status) return GST_FLOW_OK;
  post_error(GST_ELEMENT(filter), status.error());
  return GST_FLOW_ERROR;
}

GstFlowReturn transform_frame_ip(GstVideoFilter* filter, GstVideoFrame* frame) {
  HostCanvas canvas(*frame);
  Self::of(filter).mapped = true;
  return flow_of(filter, draw(filter, frame->info, canvas));
}

Status draw_on_device(GstVideoFilter* filter, GstBuffer* buffer) {
  State& o = Self::of(filter);
  if (!o.device) {
    KB_ASSIGN(o.device, make_device_rasters());
  }
  const GstVideoInfo& info = filter->in_info;
  return o.device->draw(buffer, info, [&](Raster& raster) {
    Canvas canvas(info, raster);
    return draw(filter, info, canvas);
  });
}

/// Draws where the frame is. Returns false, with one warning, if the device cannot.
bool drawn_on_device(GstVideoFilter* filter, GstBuffer* buffer) {
  State& o = Self::of(filter);
  if (o.device_failed || !is_on_device(buffer)) return false;
  const Status status = draw_on_device(filter, buffer);
  if (status) return true;
  o.device_failed = true;
  Error error = status.error();
  error.hint = "frames are drawn on by the CPU from now on";
  post_warning(GST_ELEMENT(filter), error);
  return false;
}

/// Maps the frame on the host and draws. A frame that cannot be mapped passes, unless something on
/// it is to be obscured.
GstFlowReturn draw_on_host(GstBaseTransform* base, GstBuffer* buffer) {
  State& o = Self::of(base);
  o.mapped = false;
  const GstFlowReturn flow = Self::parent_as<GstBaseTransformClass>()->transform_ip(base, buffer);
  if (flow != GST_FLOW_OK || o.mapped || o.obscured.empty()) return flow;
  return flow_of(GST_VIDEO_FILTER(base),
                 reject(ErrorKind::kTruncated,
                        "Objects on the frame cannot be obscured: its buffer cannot be mapped"));
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
  if (drawn_on_device(GST_VIDEO_FILTER(base), buffer)) return GST_FLOW_OK;
  return draw_on_host(base, buffer);
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

/// Returns the formats in the memories that can be drawn on. Transfer full.
GstCaps* overlay_caps() {
  GstCaps* caps = gst_caps_from_string(GST_VIDEO_CAPS_MAKE(KEEPBOX_PAINT_FORMATS));
  if (device_feature() == nullptr) return caps;
  GstCaps* on_device = gst_caps_copy(caps);
  gst_caps_set_features_simple(on_device, gst_caps_features_new(device_feature(), nullptr));
  gst_caps_append(caps, on_device);
  return caps;
}

gboolean start(GstBaseTransform* base) {
  Self::of(base).warned = Self::of(base).device_failed = false;
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
  o.device.reset();
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
  g_autoptr(GstCaps) caps = overlay_caps();
  add_templates(klass, caps);
  transform->start = start;
  transform->stop = stop;
  transform->prepare_output_buffer = prepare_output_buffer;
  transform->transform_ip = transform_ip;
  transform->sink_event = sink_event;
  GST_VIDEO_FILTER_CLASS(klass)->transform_frame_ip = transform_frame_ip;
  GST_VIDEO_FILTER_CLASS(klass)->set_info = set_info;
}
