// SPDX-License-Identifier: LGPL-2.1-or-later
// Inputs of frames in every format, compared with GStreamer's own conversion and scaling.
#include "gst/infer/run/pictures.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <functional>
#include <random>

#include "core/run/backend.h"
#include "tests/gst/frames.h"

namespace keepbox::test {
namespace {

constexpr const char* kFormats[] = {"RGB",  "BGR",  "RGBx", "xRGB", "BGRx", "RGBA", "GRAY8",
                                    "NV12", "NV21", "I420", "YV12", "Y42B", "YUY2", "UYVY",
                                    "GBR",  "NV16", "AYUV", "Y444", "YVYU", "Y41B"};
constexpr const char* kYuvColours[] = {"bt601", "bt709", "1:4:0:0", "1:3:0:0"};  // limited, full

bool is_yuv(const std::string& format) {
  return gst_video_format_get_info(gst_video_format_from_string(format.c_str()))->flags &
         GST_VIDEO_FORMAT_FLAG_YUV;
}

/// A frame of a test source, mapped.
struct Shot {
  GstVideoInfo info;
  Buffer buffer;
  GstVideoFrame frame{};

  Shot(const std::string& source, const std::string& caps) {
    const std::string line =
        std::format("videotestsrc num-buffers=1 {} ! capsfilter caps=\"{}\"", source, caps);
    GstHarness* harness = gst_harness_new_parse(line.c_str());
    gst_harness_play(harness);
    buffer.reset(gst_harness_pull(harness));
    g_autoptr(GstCaps) got = gst_pad_get_current_caps(harness->sinkpad);
    EXPECT_TRUE(gst_video_info_from_caps(&info, got)) << caps;
    gst_harness_teardown(harness);
    EXPECT_TRUE(gst_video_frame_map(&frame, &info, buffer.get(), GST_MAP_READ));
  }
  Shot(const Shot&) = delete;
  ~Shot() { gst_video_frame_unmap(&frame); }
};

using Pixels = std::vector<uint8_t>;

/// Converts to R, G, B like videoconvertscale, an element around this converter.
Pixels converted(Shot& shot, Size size) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_RGB, size.width, size.height);
  info.fps_n = shot.info.fps_n;
  info.fps_d = shot.info.fps_d;
  // Colours by the caps' matrix and range; primaries and transfer are kept.
  info.colorimetry.primaries = shot.info.colorimetry.primaries;
  info.colorimetry.transfer = shot.info.colorimetry.transfer;
  const Buffer buffer(gst_buffer_new_allocate(nullptr, info.size, nullptr));
  GstVideoFrame out;
  EXPECT_TRUE(gst_video_frame_map(&out, &info, buffer.get(), GST_MAP_WRITE));
  GstVideoConverter* converter = gst_video_converter_new(
      &shot.info, &info,
      gst_structure_new("config", GST_VIDEO_CONVERTER_OPT_RESAMPLER_METHOD,
                        GST_TYPE_VIDEO_RESAMPLER_METHOD, GST_VIDEO_RESAMPLER_METHOD_LINEAR,
                        GST_VIDEO_CONVERTER_OPT_DITHER_METHOD, GST_TYPE_VIDEO_DITHER_METHOD,
                        GST_VIDEO_DITHER_NONE, nullptr));
  gst_video_converter_frame(converter, &shot.frame, &out);
  gst_video_converter_free(converter);
  Pixels pixels;
  const auto* data = static_cast<const uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&out, 0));
  for (uint32_t y = 0; y < size.height; ++y) {
    const uint8_t* row = data + y * GST_VIDEO_FRAME_PLANE_STRIDE(&out, 0);
    pixels.insert(pixels.end(), row, row + 3 * size.width);
  }
  gst_video_frame_unmap(&out);
  return pixels;
}

Pixels made(const Shot& shot, Size size) {
  const auto form = frame_form_of(shot.info);
  EXPECT_TRUE(form) << form.error().message();
  const auto plan =
      plan_input(*form, 1, 1, {.size = size, .type = DataType::kUInt8, .channels_last = true},
                 ResizeMode::kStretch);
  EXPECT_TRUE(plan) << plan.error().message();
  Pixels pixels(plan->input.bytes());
  const auto maker = find_backend("reference")->input_maker(*plan);
  EXPECT_TRUE((*maker)->make(planes_of(shot.frame), pixels.data(), nullptr));
  return pixels;
}

struct Difference {
  double mean = 0;
  int worst = 0;
};

Difference difference(const Pixels& a, const Pixels& b) {
  EXPECT_EQ(a.size(), b.size());
  Difference out;
  for (size_t i = 0; i < a.size(); ++i) {
    const int step = std::abs(a[i] - b[i]);
    out.mean += step / static_cast<double>(a.size());
    out.worst = std::max(out.worst, step);
  }
  return out;
}

std::string caps_of(const std::string& format, const std::string& more, Size size = {64, 48}) {
  return std::format("video/x-raw,format={},width={},height={}{}", format, size.width, size.height,
                     more);
}

/// Visits every format, with all colours that it may have.
void for_all(Size size, const std::function<void(const std::string& format, const char* colours,
                                                 const std::string& caps)>& visit) {
  for (const char* format : kFormats) {
    if (!is_yuv(format)) visit(format, "", caps_of(format, "", size));
    else
      for (const char* colours : kYuvColours)
        visit(format, colours, caps_of(format, std::format(",colorimetry={}", colours), size));
  }
}

/// Returns the errors of videoconvertscale itself, mean and maximum. Its coefficients have 8 bits:
/// full ranges are within 2 steps, limited ones up to 5 too dark. Interpolated chroma is rounded
/// first, which makes 3 and 7.
Difference inexact(const char* colours) {
  if (*colours == 0) return {0, 0};
  return std::string(colours).ends_with(":0:0") ? Difference{0.7, 3} : Difference{2.7, 7};
}

constexpr const char* kSmooth[] = {"pattern=gradient", "pattern=zone-plate kx2=6 ky2=4 kt=30",
                                   "pattern=chroma-zone-plate kx2=6 ky2=4"};

TEST(FrameForms, MatchTheColoursOfVideoconvert) {
  constexpr Size kSize{64, 48};
  for_all(kSize, [&](const std::string& format, const char* colours, const std::string& caps) {
    if (format == "I420" || format == "YV12") return;  // it repeats their chroma: compared below
    for (const char* pattern : {"pattern=smpte", kSmooth[0], kSmooth[1], kSmooth[2]}) {
      Shot shot(pattern, caps);
      const Difference found = difference(made(shot, kSize), converted(shot, kSize));
      EXPECT_LE(found.mean, inexact(colours).mean) << caps << " " << pattern;
      EXPECT_LE(found.worst, inexact(colours).worst) << caps << " " << pattern;
    }
  });
}

TEST(FrameForms, ScaleAsVideoscaleDoes) {
  for_all({96, 80}, [](const std::string&, const char* colours, const std::string& caps) {
    for (const char* pattern : kSmooth) {
      Shot shot(pattern, caps);
      // Scaling down, it uses three samples per axis, and tensorinfer two.
      const Difference found = difference(made(shot, {64, 48}), converted(shot, {64, 48}));
      EXPECT_LE(found.mean, inexact(colours).mean + 0.7) << caps << " " << pattern;
      EXPECT_LE(found.worst, inexact(colours).worst + 10) << caps << " " << pattern;
    }
  });
}

TEST(FrameForms, AreEqualForFormatsOfTheSameSamples) {
  for (const std::vector<const char*>& same :
       {std::vector{"NV12", "NV21", "I420", "YV12"},
        {"Y42B", "NV16", "YUY2", "UYVY", "YVYU"},
        {"AYUV", "Y444"},
        {"RGB", "BGR", "RGBx", "xRGB", "BGRx", "RGBA", "GBR"}})
    for (const Size size : {Size{64, 48}, Size{33, 21}}) {
      const Shot first("pattern=smpte", caps_of(same[0], "", size));
      for (const char* format : same) {
        const Shot shot("pattern=smpte", caps_of(format, "", size));
        EXPECT_EQ(made(shot, {50, 50}), made(first, {50, 50})) << format << " " << size.width;
      }
    }
}

/// Compares a frame of one pixel with ITU-R BT.601 and BT.709.
TEST(FrameForms, MatchTheColourStandards) {
  std::mt19937 random(1);
  for (const char* colours : kYuvColours) {
    GstVideoInfo info;
    gst_video_info_set_format(&info, GST_VIDEO_FORMAT_Y444, 1, 1);
    ASSERT_TRUE(gst_video_colorimetry_from_string(&info.colorimetry, colours));
    const bool full = std::string(colours).ends_with(":0:0");
    const bool hd = info.colorimetry.matrix == GST_VIDEO_COLOR_MATRIX_BT709;
    const double kr = hd ? 0.2126 : 0.299, kb = hd ? 0.0722 : 0.114, kg = 1 - kr - kb;
    const auto form = frame_form_of(info);
    ASSERT_TRUE(form);
    for (int i = 0; i < 200; ++i) {
      const auto byte = [&] { return static_cast<double>(random() % 256); };
      const double y = byte(), u = byte(), v = byte();
      const double luma = full ? y / 255 : (y - 16) / 219;
      const double pb = (u - 128) / (full ? 255 : 224), pr = (v - 128) / (full ? 255 : 224);
      const double r = luma + 2 * (1 - kr) * pr, b = luma + 2 * (1 - kb) * pb;
      const double want[] = {r, (luma - kr * r - kb * b) / kg, b};
      for (size_t c = 0; c < 3; ++c) {
        const auto& row = form->matrix[c];
        EXPECT_NEAR(row[0] * y + row[1] * u + row[2] * v + row[3], want[c] * 255, 1e-3) << colours;
      }
    }
  }
}

TEST(FrameForms, FollowTheSitingOfChroma) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_NV12, 64, 48);
  const auto shifts = [&](GstVideoChromaSite site) {
    info.chroma_site = site;
    const auto form = frame_form_of(info);
    EXPECT_EQ(form->components[0].shift_x, 0.5f);
    return std::pair(form->components[1].shift_x, form->components[2].shift_y);
  };
  EXPECT_EQ(shifts(GST_VIDEO_CHROMA_SITE_MPEG2), std::pair(0.25f, 0.5f));
  EXPECT_EQ(shifts(GST_VIDEO_CHROMA_SITE_JPEG), std::pair(0.5f, 0.5f));
  EXPECT_EQ(shifts(GST_VIDEO_CHROMA_SITE_COSITED), std::pair(0.25f, 0.25f));
  EXPECT_EQ(shifts(GST_VIDEO_CHROMA_SITE_V_COSITED), std::pair(0.5f, 0.25f));
}

TEST(FrameForms, AreRejectedForOtherThanBytes) {
  for (const char* format : {"P010_10LE", "RGB16", "v210", "RGB8P", "GRAY16_LE", "NV12_64Z32",
                             "ARGB64", "IYU1", "UYVP", "I420_10LE"}) {
    GstVideoInfo info;
    gst_video_info_set_format(&info, gst_video_format_from_string(format), 64, 64);
    const auto form = frame_form_of(info);
    ASSERT_FALSE(form) << format;
    EXPECT_EQ(form.error().kind, ErrorKind::kUnsupported);
    EXPECT_EQ(form.error().found, format);
  }
}

TEST(FrameForms, TakeBt601WithoutAMatrix) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_I420, 64, 48);
  info.colorimetry.matrix = GST_VIDEO_COLOR_MATRIX_BT601;
  const auto known = frame_form_of(info);
  info.colorimetry.matrix = GST_VIDEO_COLOR_MATRIX_UNKNOWN;
  const auto unknown = frame_form_of(info);
  ASSERT_TRUE(known && unknown);
  for (size_t row = 0; row < 3; ++row)
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(unknown->matrix[row][i], known->matrix[row][i]);
}

}  // namespace
}  // namespace keepbox::test
