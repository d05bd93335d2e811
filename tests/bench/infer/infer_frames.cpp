// SPDX-License-Identifier: LGPL-2.1-or-later
// Generates frames once, so that neither drawing nor decoding is measured.
#include <gst/analytics/analytics.h>
#include <gst/video/video.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/bench/infer/infer.h"

namespace keepbox::test {
namespace {

using Colour = std::array<int, 3>;
constexpr Colour kColours[] = {{220, 40, 40},  {40, 190, 60},  {40, 70, 220},
                               {230, 200, 40}, {200, 60, 200}, {60, 200, 210}};
constexpr size_t kShapes = 8;

/// A circle or a square per cell of a 4x2 grid, moving in a circle in its cell.
struct Scene {
  double width, height, cell;
  std::array<std::array<double, 2>, kShapes> centres;

  Scene(double w, double h, double turn) : width(w), height(h), cell(std::min(w / 4, h / 2)) {
    for (size_t i = 0; i < kShapes; ++i) {
      const double angle = turn + static_cast<double>(i);
      centres[i] = {(static_cast<double>(i % 4) + 0.5) * w / 4 + cell * 0.1 * std::cos(angle),
                    (static_cast<double>(i / 4) + 0.5) * h / 2 + cell * 0.1 * std::sin(angle)};
    }
  }

  /// Returns the squares around the shapes.
  std::vector<Object> objects() const {
    std::vector<Object> out;
    const int side = static_cast<int>(cell * 0.7);
    for (const auto& [x, y] : centres)
      out.push_back({static_cast<int>(x) - side / 2, static_cast<int>(y) - side / 2, side, side});
    return out;
  }

  Colour at(int x, int y) const {
    const auto shape = static_cast<size_t>(2 * y / height) * 4 + static_cast<size_t>(4 * x / width);
    const double radius = cell * (shape % 3 == 0 ? 0.36 : 0.27);
    const double from_x = x - centres[shape][0], from_y = y - centres[shape][1];
    const bool inside = shape % 2 == 0
                            ? from_x * from_x + from_y * from_y < radius * radius
                            : std::max(std::abs(from_x), std::abs(from_y)) < radius * 0.85;
    const int ground = 90 + static_cast<int>(60 * x / width + 20 * y / height);
    return inside ? kColours[shape % 6] : Colour{ground, ground, ground};
  }
};

/// Converts to BT.601, limited range.
Colour yuv_of(const Colour& c) {
  return {16 + (66 * c[0] + 129 * c[1] + 25 * c[2]) / 256,
          128 + (-38 * c[0] - 74 * c[1] + 112 * c[2]) / 256,
          128 + (112 * c[0] - 94 * c[1] - 18 * c[2]) / 256};
}

void paint(const Scene& scene, const GstVideoInfo& info, uint8_t* bytes) {
  const auto place = [&](guint plane, int row) {
    return bytes + GST_VIDEO_INFO_PLANE_OFFSET(&info, plane) +
           static_cast<size_t>(row) * GST_VIDEO_INFO_PLANE_STRIDE(&info, plane);
  };
  const bool rgb = GST_VIDEO_INFO_IS_RGB(&info);
  for (int y = 0; y < info.height; ++y)
    for (int x = 0; x < info.width; ++x) {
      const Colour colour = scene.at(x, y);
      if (rgb) {
        for (size_t c = 0; c < 3; ++c) place(0, y)[3 * x + c] = static_cast<uint8_t>(colour[c]);
        continue;
      }
      const Colour yuv = yuv_of(colour);
      place(0, y)[x] = static_cast<uint8_t>(yuv[0]);
      if (x % 2 != 0 || y % 2 != 0) continue;
      place(1, y / 2)[x] = static_cast<uint8_t>(yuv[1]);
      place(1, y / 2)[x + 1] = static_cast<uint8_t>(yuv[2]);
    }
}

struct Feeding {
  Frames frames;
  int count;
  bool objects;
  int pushed = 0;
};

void attach(GstBuffer* buffer, const std::vector<Object>& objects) {
  GstAnalyticsRelationMeta* meta = gst_buffer_add_analytics_relation_meta(buffer);
  const GQuark label = g_quark_from_static_string("shape");
  for (const auto& [x, y, width, height] : objects)
    gst_analytics_relation_meta_add_od_mtd(meta, label, x, y, width, height, 0.9f, nullptr);
}

void push_next(GstElement* appsrc, guint, gpointer user_data) {
  auto& feeding = *static_cast<Feeding*>(user_data);
  GstFlowReturn flow = GST_FLOW_OK;
  if (feeding.pushed == feeding.count) {
    g_signal_emit_by_name(appsrc, "end-of-stream", &flow);
    return;
  }
  const auto& buffers = feeding.frames.buffers;
  const size_t next = static_cast<size_t>(feeding.pushed) % buffers.size();
  GstBuffer* buffer = gst_buffer_copy(buffers[next]);  // shares the memory
  if (feeding.objects) attach(buffer, feeding.frames.objects[next]);
  GST_BUFFER_PTS(buffer) =
      static_cast<GstClockTime>(feeding.pushed * GST_SECOND / kFramesPerSecond);
  GST_BUFFER_DURATION(buffer) = static_cast<GstClockTime>(GST_SECOND / kFramesPerSecond);
  ++feeding.pushed;
  g_signal_emit_by_name(appsrc, "push-buffer", buffer, &flow);
  gst_buffer_unref(buffer);
}

GstPadProbeReturn keep_buffer(GstPad* pad, GstPadProbeInfo* info, gpointer user_data) {
  auto& frames = *static_cast<Frames*>(user_data);
  GstBuffer* buffer = gst_pad_probe_info_get_buffer(info);
  frames.buffers.push_back(gst_buffer_ref(buffer));
  if (frames.caps.empty()) {
    GstCaps* caps = gst_pad_get_current_caps(pad);
    gchar* text = gst_caps_to_string(caps);
    frames.caps = text;
    g_free(text);
    gst_caps_unref(caps);
  }
  return GST_PAD_PROBE_OK;
}

/// Collects the buffers at the sink pad of the element "last" until EOS.
std::expected<Frames, std::string> caught(const std::string& text, const Frames* source,
                                          int count) {
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(text.c_str(), &error);
  if (error != nullptr) {
    std::string why = error->message;
    g_clear_error(&error);
    g_clear_pointer(&pipeline, gst_object_unref);
    return std::unexpected(std::move(why));
  }
  Frames out;
  GstElement* last = gst_bin_get_by_name(GST_BIN(pipeline), "last");
  GstElement* first = gst_bin_get_by_name(GST_BIN(pipeline), "first");
  GstPad* pad = gst_element_get_static_pad(last, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, keep_buffer, &out, nullptr);
  if (source != nullptr) feed(first, *source, count);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, 60 * GST_SECOND,
      static_cast<GstMessageType>(int{GST_MESSAGE_EOS} | int{GST_MESSAGE_ERROR}));
  std::string why = out.buffers.empty() ? "no frame came" : "";
  if (message != nullptr && GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    gst_message_parse_error(message, &error, nullptr);
    why = error->message;
    g_clear_error(&error);
  }
  if (message != nullptr) gst_message_unref(message);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  for (gpointer each : std::initializer_list<gpointer>{pad, last, first, bus, pipeline})
    if (each != nullptr) gst_object_unref(each);
  if (!why.empty()) return std::unexpected(std::move(why));
  return out;
}

bool there(const char* element) {
  GstElementFactory* factory = gst_element_factory_find(element);
  if (factory == nullptr) return false;
  gst_object_unref(factory);
  return true;
}

}  // namespace

Frames Frames::drawn(const char* format, int width, int height, int count) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, gst_video_format_from_string(format), static_cast<guint>(width),
                            static_cast<guint>(height));
  Frames out;
  out.caps = std::string("video/x-raw,format=") + format + ",width=" + std::to_string(width) +
             ",height=" + std::to_string(height) + ",framerate=30/1,pixel-aspect-ratio=1/1";
  for (int i = 0; i < count; ++i) {
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, info.size, nullptr);
    const Scene scene(width, height, 2 * G_PI * i / count);
    GstMapInfo map;
    gst_buffer_map(buffer, &map, GST_MAP_WRITE);
    paint(scene, info, map.data);
    gst_buffer_unmap(buffer, &map);
    out.buffers.push_back(buffer);
    out.objects.push_back(scene.objects());
  }
  return out;
}

std::expected<Frames, std::string> Frames::of_clip(const Options& options, int count) {
  for (const char* decoder : {"nvh264dec", "avdec_h264", "openh264dec"}) {
    if (!there(decoder)) continue;
    const bool cuda = std::string_view(decoder) == "nvh264dec";
    return caught("filesrc location=" + quoted(options.clip) + " ! qtdemux ! h264parse ! " +
                      decoder + (cuda ? " ! cudadownload" : "") +
                      " ! videoconvertscale ! video/x-raw,format=NV12,width=" +
                      std::to_string(options.width) + ",height=" + std::to_string(options.height) +
                      " ! identity eos-after=" + std::to_string(count) +
                      " ! fakesink name=last sync=false",
                  nullptr, 0);
  }
  return std::unexpected("no decoder of H.264");
}

std::expected<Frames, std::string> Frames::on_gpu(const Options& options, const Frames& frames) {
  // the inference element provides the CUDA context
  auto out = caught(
      "appsrc name=first ! cudaupload ! video/x-raw(memory:CUDAMemory) ! tensorinfer "
      "name=last provider=cuda model-file=" +
          quoted(options.model) + " ! fakesink sync=false",
      &frames, static_cast<int>(frames.buffers.size()));
  if (!out) return out;
  out->caps = "video/x-raw(memory:CUDAMemory)" + out->caps.substr(out->caps.find(", "));
  out->objects = frames.objects;
  return out;
}

void feed(GstElement* appsrc, const Frames& frames, int count, bool objects) {
  GstCaps* caps = gst_caps_from_string(frames.caps.c_str());
  g_object_set(appsrc, "caps", caps, "format", GST_FORMAT_TIME, "max-bytes", guint64{1}, nullptr);
  gst_caps_unref(caps);
  g_signal_connect_data(
      appsrc, "need-data", G_CALLBACK(push_next), new Feeding{frames, count, objects},
      [](gpointer feeding, GClosure*) { delete static_cast<Feeding*>(feeding); }, GConnectFlags{});
}

}  // namespace keepbox::test
