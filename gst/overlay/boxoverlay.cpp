// SPDX-License-Identifier: LGPL-2.1-or-later
// boxoverlay: draws the boxes of a frame on the frame.
/**
 * SECTION:element-boxoverlay
 * @title: boxoverlay
 *
 * Draws the boxes of a frame (#GstAnalyticsODMtd of boxdecode or any other decoder, upright and
 * oriented) onto it, in place, with labels for class, tracking id and score, and with keypoints and
 * masks of boxes that have them. Frames without boxes pass unchanged.
 *
 * Each class has its own colour, by its number or else by its name. Colours of consecutive classes,
 * and of the first eight, differ for every kind of colour vision. Labels of boxes with higher
 * scores are placed first.
 *
 * Labels are in DejaVu Sans, and in other fonts of the host for scripts that it lacks, such as
 * Chinese. Without any font there is one warning, and boxes are drawn without labels.
 *
 * Frames in CUDA memory are drawn on where they are, with the same pixels. Only the coverage of
 * slanted lines and labels is computed on the CPU. Of objects to blur, the area of each is copied
 * to the CPU and back.
 *
 * Frames that cannot be drawn on where they are, in GL, VA or DMABuf memory or in another format,
 * get their boxes as a #GstVideoOverlayComposition if downstream draws it, as glimagesink and
 * gloverlaycompositor do, in the resolution of the sink's window. The property render forces
 * either way.
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
 *
 * Since: 0.1
 */
#include <gst/video/gstvideofilter.h>
#include <gst/video/video.h>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "gst/base/element.h"
#include "gst/base/error.h"
#include "gst/overlay/canvas.h"
#include "gst/overlay/cudaraster.h"
#include "gst/overlay/framepainter.h"
#include "gst/overlay/obscure.h"
#include "gst/overlay/overlayprops.h"
#include "gst/overlay/rendering.h"
#include "gst/tensors/device.h"
#include "gst/tensors/tensors.h"

GST_DEBUG_CATEGORY_STATIC(boxoverlay_debug);
#define GST_CAT_DEFAULT boxoverlay_debug

namespace keepbox {
namespace {

// Drawing on the device as long as it works.

/// Draws on frames in device memory, until that fails.
class DeviceDrawing {
 public:
  /// Draws where the frame is.
  /// @return false if it is not in device memory, or, with one warning of the element, if the
  /// device cannot; the host then has to draw.
  bool draw(GstElement* element, GstBuffer* buffer, const GstVideoInfo& info,
            const std::function<Status(Raster&)>& act);

 private:
  std::unique_ptr<DeviceRasters> rasters_;  // if a frame was in device memory
  bool failed_ = false;
};

Status draw_with(std::unique_ptr<DeviceRasters>& rasters, GstBuffer* buffer,
                 const GstVideoInfo& info, const std::function<Status(Raster&)>& act) {
  if (!rasters) {
    KB_ASSIGN(rasters, make_device_rasters());
  }
  return rasters->draw(buffer, info, act);
}

bool DeviceDrawing::draw(GstElement* element, GstBuffer* buffer, const GstVideoInfo& info,
                         const std::function<Status(Raster&)>& act) {
  if (failed_ || !DeviceContext::of(buffer)) return false;
  const Status status = draw_with(rasters_, buffer, info, act);
  if (status) return true;
  failed_ = true;
  Error error = status.error();
  error.hint = "frames are drawn on by the CPU from now on";
  post_warning(element, error);
  return false;
}

struct State : TableProps<OverlayProps, overlay_properties> {
  // The streaming thread's own:
  FramePainter painter;
  DeviceDrawing device;
  bool mapped = false;  // the frame, on the host
  bool warned = false;
  RenderingCaps caps;
  Layer layer;
  int rendering = 0;      // that was negotiated
  bool obscures = false;  // likewise
  Settled settled;
  std::atomic<bool> is_settled{false};  // false after new caps, or if downstream has to be asked
};

}  // namespace
}  // namespace keepbox

KEEPBOX_DEFINE_ELEMENT(boxoverlay, KeepboxBoxOverlay, keepbox_box_overlay, GstVideoFilter,
                       GST_TYPE_VIDEO_FILTER)

using namespace keepbox;

namespace {

void draw_boxes(GstVideoFilter* filter, Canvas& canvas, float by = 1) {
  State& o = Self::of(filter);
  const Status status = o.painter.paint(canvas, by);
  if (!status && !o.warned) post_warning(GST_ELEMENT(filter), status.error());
  o.warned = !status;
  GST_LOG_OBJECT(filter, "%zu boxes, %zu labels omitted for lack of space", o.painter.boxes(),
                 o.painter.left_out());
}

/// Obscures and draws. Returns an error only if nothing was obscured, because such a frame must not
/// be shown.
Status draw(GstVideoFilter* filter, Canvas& canvas) {
  KB_TRY(Self::of(filter).painter.obscure(canvas));
  if (!Self::of(filter).settled.attaches) draw_boxes(filter, canvas);
  return {};
}

GstFlowReturn flow_of(GstVideoFilter* filter, const Status& status) {
  if (status) return GST_FLOW_OK;
  post_error(GST_ELEMENT(filter), status.error());
  return GST_FLOW_ERROR;
}

GstFlowReturn transform_frame_ip(GstVideoFilter* filter, GstVideoFrame* frame) {
  if (const Status aligned = check_alignment(*frame); !aligned) return flow_of(filter, aligned);
  HostCanvas canvas(*frame);
  Self::of(filter).mapped = true;
  return flow_of(filter, draw(filter, canvas));
}

bool drawn_on_device(GstVideoFilter* filter, GstBuffer* buffer) {
  const GstVideoInfo& info = filter->in_info;
  return Self::of(filter).device.draw(GST_ELEMENT(filter), buffer, info, [&](Raster& raster) {
    Canvas canvas(info, raster);
    return draw(filter, canvas);
  });
}

/// Draws on the host. A frame that cannot be mapped passes, unless something is to be obscured.
GstFlowReturn draw_on_host(GstBaseTransform* base, GstBuffer* buffer) {
  State& o = Self::of(base);
  o.mapped = false;
  const GstFlowReturn flow = Self::parent_as<GstBaseTransformClass>()->transform_ip(base, buffer);
  if (flow != GST_FLOW_OK || o.mapped || !o.painter.obscures()) return flow;
  return flow_of(GST_VIDEO_FILTER(base), cannot_obscure("its buffer cannot be mapped"));
}

/// Draws everything on the frame, or with attached boxes what is obscured.
GstFlowReturn draw_on_frame(GstBaseTransform* base, GstBuffer* buffer) {
  auto* filter = GST_VIDEO_FILTER(base);
  if (drawn_on_device(filter, buffer)) return GST_FLOW_OK;
  if (!Self::of(base).settled.can_obscure)
    return flow_of(filter, cannot_obscure("its format cannot be drawn on"));
  return draw_on_host(base, buffer);
}

GstFlowReturn attach(GstBaseTransform* base, GstBuffer* buffer) {
  State& o = Self::of(base);
  auto* filter = GST_VIDEO_FILTER(base);
  const Size frame = picture_of(filter->in_info).size;
  const float by = enlargement(frame, o.settled.window);
  return flow_of(filter, o.layer.attach(buffer, frame, by,
                                        [&](Canvas& canvas) { draw_boxes(filter, canvas, by); }));
}

/// Negotiates again if properties have changed. @return false if that fails.
bool follow_properties(GstBaseTransform* base, const OverlayProps& props) {
  State& o = Self::of(base);
  if (std::exchange(o.obscures, props.obscures()) != props.obscures())
    gst_base_transform_reconfigure_sink(base);
  if (std::exchange(o.rendering, props.render) == props.render) return true;
  o.is_settled = false;
  gst_base_transform_reconfigure_sink(base);
  gst_base_transform_reconfigure_src(base);
  return gst_base_transform_reconfigure(base) != FALSE;
}

/// Finds out once whether boxes are attached, after new caps or a request of downstream.
GstFlowReturn settle_once(GstBaseTransform* base, const OverlayProps& props) {
  State& o = Self::of(base);
  if (!follow_properties(base, props))
    return flow_of(GST_VIDEO_FILTER(base), std::unexpected(cannot_change()));
  if (o.is_settled.exchange(true)) return GST_FLOW_OK;
  const auto settled = settle(o.caps, base, static_cast<Rendering>(o.rendering));
  if (!settled) o.is_settled = false;
  else o.settled = *settled;
  return flow_of(GST_VIDEO_FILTER(base), settled ? Status() : std::unexpected(settled.error()));
}

/// Copies a frame only if it is drawn on. A GAP buffer may have boxes but no picture.
GstFlowReturn prepare_output_buffer(GstBaseTransform* base, GstBuffer* input, GstBuffer** output) {
  State& o = Self::of(base);
  const OverlayProps props = locked_copy(base, o.props);
  if (const GstFlowReturn flow = settle_once(base, props); flow != GST_FLOW_OK) return flow;
  o.painter.begin_frame(
      input, picture_of(GST_VIDEO_FILTER(base)->in_info).size, props,
      gst_segment_to_stream_time(&base->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(input)));
  post_warnings(GST_ELEMENT(base), o.painter.privacy().take_warnings());
  if (gst_buffer_n_memory(input) == 0) o.painter.skip();
  if (!o.painter.is_idle()) return writable_with_tensors(base, input, output);
  *output = input;
  return GST_FLOW_OK;
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  const State& o = Self::of(base);
  if (o.painter.is_idle()) return GST_FLOW_OK;
  if (!o.settled.attaches) return draw_on_frame(base, buffer);
  const GstFlowReturn flow = o.painter.obscures() ? draw_on_frame(base, buffer) : GST_FLOW_OK;
  return flow == GST_FLOW_OK && o.painter.draws() ? attach(base, buffer) : flow;
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS)
    post_warnings(GST_ELEMENT(base), Self::of(base).painter.privacy().take_unused());
  return Self::parent_as<GstBaseTransformClass>()->sink_event(base, event);
}

/// Forgets places in a picture of another size.
gboolean set_info(GstVideoFilter* filter, GstCaps*, GstVideoInfo* now, GstCaps*, GstVideoInfo*) {
  Self::of(filter).is_settled = false;
  const GstVideoInfo& before = filter->in_info;  // still that of the earlier caps
  if (now->width != before.width || now->height != before.height)
    Self::of(filter).painter.privacy().forget_places();
  return TRUE;
}

gboolean src_event(GstBaseTransform* base, GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE) Self::of(base).is_settled = false;
  return Self::parent_as<GstBaseTransformClass>()->src_event(base, event);
}

GstCaps* transform_caps(GstBaseTransform* base, GstPadDirection from, GstCaps* caps,
                        GstCaps* filter) {
  State& o = Self::of(base);
  const OverlayProps props = locked_copy(base, o.props);
  return o.caps.transform(from, caps, filter,
                          {.how = static_cast<Rendering>(props.render),
                           .obscures = props.obscures(),
                           .unlinked = !gst_pad_is_linked(base->srcpad)});
}

GstCaps* fixate_caps(GstBaseTransform* base, GstPadDirection from, GstCaps* caps, GstCaps* others) {
  State& o = Self::of(base);
  const auto how = static_cast<Rendering>(locked_copy(base, o.props.render));
  if (from == GST_PAD_SINK) others = o.caps.prefer(caps, others, how);
  return Self::parent_as<GstBaseTransformClass>()->fixate_caps(base, from, caps, others);
}

gboolean start(GstBaseTransform* base) {
  State& o = Self::of(base);
  o.warned = o.is_settled = false;
  const OverlayProps props = locked_copy(base, o.props);
  o.rendering = props.render;
  o.obscures = props.obscures();
  return TRUE;
}

gboolean stop(GstBaseTransform* base) {
  State& o = Self::of(base);
  o.painter = {};
  o.device = {};
  o.layer = {};
  return TRUE;
}

}  // namespace

static void keepbox_box_overlay_init(KeepboxBoxOverlay* self) { self->make_state(); }

static void keepbox_box_overlay_class_init(KeepboxBoxOverlayClass* klass) {
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(boxoverlay_debug, "boxoverlay", 0, "drawing of boxes on frames");

  Self::set_up(klass);
  overlay_properties().install(G_OBJECT_CLASS(klass));
  describe(
      klass, "Detection box overlay", "Analyzer/Visualization/Video",
      "Draws the boxes on a frame (GstAnalyticsODMtd of any decoder) in one colour per class, with "
      "masks and keypoints, labelled with class, score and tracking id");
  g_autoptr(GstCaps) caps = RenderingCaps::of_templates();
  add_templates(klass, caps);
  transform->start = start;
  transform->stop = stop;
  transform->prepare_output_buffer = prepare_output_buffer;
  transform->transform_ip = transform_ip;
  transform->sink_event = sink_event;
  transform->src_event = src_event;
  transform->transform_caps = transform_caps;
  transform->fixate_caps = fixate_caps;
  GST_VIDEO_FILTER_CLASS(klass)->transform_frame_ip = transform_frame_ip;
  GST_VIDEO_FILTER_CLASS(klass)->set_info = set_info;
}
