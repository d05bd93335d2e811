// SPDX-License-Identifier: LGPL-2.1-or-later
// GStreamer's GL compositor draws what boxoverlay attaches to frames in GL memory.
#include <gst/analytics/analytics.h>
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace keepbox {
namespace {

constexpr guint kWide = 64, kHigh = 48;

/// Chooses a GL without a window while it exists, unless the environment has chosen one.
class Windowless {
 public:
  Windowless() : chosen_(g_getenv("GST_GL_WINDOW") == nullptr) {
    if (!chosen_) return;
    g_setenv("GST_GL_PLATFORM", "egl", TRUE);
    g_setenv("GST_GL_WINDOW", "surfaceless", TRUE);
  }
  ~Windowless() {
    if (!chosen_) return;
    g_unsetenv("GST_GL_PLATFORM");
    g_unsetenv("GST_GL_WINDOW");
  }
  Windowless(const Windowless&) = delete;
  Windowless& operator=(const Windowless&) = delete;

 private:
  bool chosen_;
};

GstPadProbeReturn add_box(GstPad*, GstPadProbeInfo* info, gpointer) {
  GstBuffer* buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
  GST_PAD_PROBE_INFO_DATA(info) = buffer;
  gst_analytics_relation_meta_add_od_mtd(gst_buffer_add_analytics_relation_meta(buffer),
                                         g_quark_from_string("person"), 10, 8, 30, 20, 0.9f,
                                         nullptr);
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn take_pixels(GstPad*, GstPadProbeInfo* info, gpointer to) {
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  auto& pixels = *static_cast<std::vector<guint8>*>(to);
  pixels.resize(gst_buffer_get_size(buffer));
  gst_buffer_extract(buffer, 0, pixels.data(), pixels.size());
  return GST_PAD_PROBE_OK;
}

void probe(GstElement* pipeline, const char* name, GstPadProbeCallback call, gpointer data) {
  GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline), name);
  GstPad* pad = gst_element_get_static_pad(element, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, call, data, nullptr);
  gst_object_unref(pad);
  gst_object_unref(element);
}

/// Plays to the end. @return the error, if there was one.
std::string play(GstElement* pipeline) {
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, 30 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  std::string out = message == nullptr ? "nothing happened" : "";
  if (message != nullptr && GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    g_autoptr(GError) error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    out = std::string(GST_OBJECT_NAME(GST_MESSAGE_SRC(message))) + ": " + error->message;
  }
  gst_clear_message(&message);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  return out;
}

TEST(AttachedGl, IsDrawnByTheCompositor) {
  for (const char* name : {"glupload", "gloverlaycompositor", "gldownload"}) {
    GstElementFactory* factory = gst_element_factory_find(name);
    if (factory == nullptr) GTEST_SKIP() << "there is no " << name;
    gst_object_unref(factory);
  }
  const Windowless windowless;
  std::vector<guint8> pixels;
  GstElement* pipeline = gst_parse_launch(
      "videotestsrc num-buffers=1 pattern=black ! video/x-raw,format=RGBA,width=64,height=48"
      " ! glupload ! video/x-raw(memory:GLMemory) ! boxoverlay name=overlay draw-labels=false"
      " draw-scores=false ! gloverlaycompositor ! gldownload ! video/x-raw,format=RGBA"
      " ! fakesink name=end",
      nullptr);
  ASSERT_NE(pipeline, nullptr);
  probe(pipeline, "overlay", add_box, nullptr);
  probe(pipeline, "end", take_pixels, &pixels);
  const std::string error = play(pipeline);
  gst_object_unref(pipeline);
  if (error.starts_with("glupload")) GTEST_SKIP() << "there is no GL: " << error;
  ASSERT_EQ(error, "");
  ASSERT_EQ(pixels.size(), kWide * kHigh * 4);
  const auto red = [&](guint x, guint y) { return pixels[(y * kWide + x) * 4]; };
  EXPECT_NE(red(10, 18), red(50, 40)) << "the left edge";
  EXPECT_NE(red(20, 8), red(50, 40)) << "the upper edge";
  EXPECT_EQ(red(24, 18), red(50, 40)) << "inside";
}

}  // namespace
}  // namespace keepbox
