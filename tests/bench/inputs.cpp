// SPDX-License-Identifier: LGPL-2.1-or-later
// Times input makers, compared with videoconvertscale followed by a plain loop from bytes to
// floats.
#include <gst/video/video.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "core/run/backend.h"
#include "gst/infer/run/pictures.h"

namespace keepbox::test {
namespace {

using Clock = std::chrono::steady_clock;

double median_us(const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i < 41; ++i) {
    const auto start = Clock::now();
    work();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::ranges::nth_element(times, times.begin() + 20);
  return times[20];
}

/// A frame of smooth noise, mapped by GStreamer.
struct Mapped {
  GstVideoInfo info;
  GstVideoFrame frame{};
  GstBuffer* buffer;

  Mapped(GstVideoFormat format, Size size) {
    gst_video_info_set_format(&info, format, size.width, size.height);
    buffer = gst_buffer_new_allocate(nullptr, info.size, nullptr);
    std::mt19937 random(1);
    gst_video_frame_map(&frame, &info, buffer, GST_MAP_READWRITE);
    auto* bytes = static_cast<uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0));
    for (size_t i = 0; i < info.size; ++i) bytes[i] = static_cast<uint8_t>(random());
  }
  Mapped(const Mapped&) = delete;
  ~Mapped() {
    gst_video_frame_unmap(&frame);
    gst_buffer_unref(buffer);
  }
};

InputPlan planned(const Mapped& from, uint32_t side) {
  InputForm input{.size = {side, side}, .deviation = {255, 255, 255}, .pad = 114};
  return *plan_input(*frame_form_of(from.info), 1, 1, input, ResizeMode::kLetterboxScaler);
}

double by_backend(const char* name, Mapped& from, uint32_t side) {
  const InputPlan plan = planned(from, side);
  std::vector<float> out(size_t{3} * side * side);
  const auto maker = find_backend(name)->input_maker(plan);
  const FramePlanes planes = planes_of(from.frame);
  return median_us([&] { (void)(*maker)->make(planes, out.data(), nullptr); });
}

/// Runs videoconvertscale's converter with borders on one thread, then converts bytes to float
/// planes.
double by_gstreamer(Mapped& from, uint32_t side, bool floats) {
  Mapped to(GST_VIDEO_FORMAT_RGB, {side, side});
  const auto place = planned(from, side).place;
  GstVideoConverter* converter = gst_video_converter_new(
      &from.info, &to.info,
      gst_structure_new("config", GST_VIDEO_CONVERTER_OPT_DEST_X, G_TYPE_INT, int(place.x),
                        GST_VIDEO_CONVERTER_OPT_DEST_Y, G_TYPE_INT, int(place.y),
                        GST_VIDEO_CONVERTER_OPT_DEST_WIDTH, G_TYPE_INT, int(place.width),
                        GST_VIDEO_CONVERTER_OPT_DEST_HEIGHT, G_TYPE_INT, int(place.height),
                        GST_VIDEO_CONVERTER_OPT_RESAMPLER_METHOD, GST_TYPE_VIDEO_RESAMPLER_METHOD,
                        GST_VIDEO_RESAMPLER_METHOD_LINEAR, nullptr));
  const size_t count = size_t{side} * side;
  std::vector<float> out(3 * count);
  const auto* bytes = static_cast<const uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&to.frame, 0));
  const double time = median_us([&] {
    gst_video_converter_frame(converter, &from.frame, &to.frame);
    for (size_t i = 0; floats && i < count; ++i)
      for (size_t c = 0; c < 3; ++c)
        out[c * count + i] = static_cast<float>(bytes[3 * i + c]) * (1.0f / 255);
  });
  gst_video_converter_free(converter);
  return time;
}

void run() {
  std::printf("%-24s %12s %12s %16s %12s\n", "us, median of 41", "reference", "simd",
              "GStreamer+loop", "GStreamer");
  for (const GstVideoFormat format :
       {GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_RGB, GST_VIDEO_FORMAT_BGRx})
    for (const Size size : {Size{1920, 1080}, Size{1280, 720}, Size{320, 320}}) {
      Mapped from(format, size);
      const uint32_t side = size.width == 320 ? 320 : 640;
      std::printf("%-6s %4ux%-4u to %-6u %12.0f %12.0f %16.0f %12.0f\n",
                  gst_video_format_to_string(format), size.width, size.height, side,
                  by_backend("reference", from, side), by_backend("simd", from, side),
                  by_gstreamer(from, side, true), by_gstreamer(from, side, false));
    }
  std::vector<float> a(size_t{3} * 320 * 320), b(a.size(), 1);
  std::printf("memcpy of 3x320x320 floats: %.0f us\n",
              median_us([&] { std::memcpy(a.data(), b.data(), a.size() * sizeof(float)); }));
}

}  // namespace
}  // namespace keepbox::test

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  keepbox::test::run();
}
