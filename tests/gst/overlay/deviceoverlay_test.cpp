// SPDX-License-Identifier: LGPL-2.1-or-later
// boxoverlay on frames in CUDA memory: the same pixels as on the host.
#include <unistd.h>

#include <random>
#include <span>
#include <string>
#include <vector>

#include "gst/metas/boxes.h"
#include "gst/metas/counts.h"
#include "gst/metas/masks.h"
#include "gst/overlay/raster.h"
#include "tests/fonts.h"
#include "tests/gst/device.h"
#include "tests/gst/frames.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;

constexpr int kDrawnWidth = 323, kDrawnHeight = 241;

std::string drawn_caps(const std::string& format, const char* memory = "") {
  return "video/x-raw" + std::string(memory) + ", format=" + format +
         ", width=" + std::to_string(kDrawnWidth) + ", height=" + std::to_string(kDrawnHeight) +
         ", framerate=30/1";
}

Buffer noisy_frame(const GstVideoInfo& info, unsigned seed) {
  Buffer out(gst_buffer_new_allocate(nullptr, info.size, nullptr));
  GstMapInfo map;
  EXPECT_TRUE(gst_buffer_map(out.get(), &map, GST_MAP_WRITE));
  std::minstd_rand random(seed);
  for (gsize i = 0; i < map.size; ++i) map.data[i] = static_cast<guint8>(random() >> 8);
  gst_buffer_unmap(out.get(), &map);
  return out;
}

/// Upright and oriented boxes, beyond the edges and on top of each other, with keypoints, masks and
/// labels. @param label of every third box
void attach_all(GstBuffer* frame, const char* label = "Straße سيارة Привет") {
  static constexpr uint32_t kDisc[] = {0b00111100, 0b01111110, 0b11111111, 0b11111111,
                                       0b11111111, 0b01111110, 0b00111100};
  static const std::vector<Keypoint> kPoints = {{30, 40, 1}, {90, 100, 0.9f}, {33, 90, 0.8f}};
  static constexpr Edge kEdges[] = {{0, 1}, {1, 2}};
  const Mask masks[] = {{kDisc, 1, 0, 8, 7, {20.5f, 30.25f, 111, 120}},
                        {kDisc, 1, 0, 8, 7, {250, 180, 340, 260}},
                        {kDisc, 1, 0, 8, 7, {-40.3f, 90, 330.6f, 200.5f}}};
  const MaskBuffers buffers = make_mask_buffers(masks);
  std::vector<FrameBox> list;
  for (int i = 0; i < 40; ++i) {
    const auto x = static_cast<float>(i * 37 % 320 - 8), y = static_cast<float>(i * 53 % 240 - 6);
    list.push_back(
        {.box = {x, y, x + 41.5f, y + 33}, .score = 0.9f - 0.01f * static_cast<float>(i)});
    list.back().label = g_quark_from_string(i % 3 == 0 ? "person" : i % 3 == 1 ? "vehicle" : label);
    list.back().class_id = static_cast<uint32_t>(i % 3);
    if (i % 5 == 4) list.back().angle = 0.3f * static_cast<float>(i);
  }
  list[0].mask = buffers[0];
  list[1].mask = buffers[1];
  list[3].mask = buffers[2];
  list[2].keypoints = {kPoints, kEdges, g_quark_from_string("three")};
  EXPECT_TRUE(attach_boxes(frame, list, {.frame = {kDrawnWidth, kDrawnHeight}}));
  attach_counts(frame, {.lines = {{.name = "gate", .points = {Corner{20, 190}, Corner{300, 40}}}},
                        .zones = {{.name = "queue", .corners = {{150, 60}, {350, 90}, {40, 220}}}},
                        .notes = {}});
}

/// Returns the pixels of all planes without the gaps between rows.
std::vector<guint8> visible_samples(GstBuffer* buffer, const GstVideoInfo& info) {
  std::vector<guint8> out;
  GstVideoFrame frame;
  if (!gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ)) return out;
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&frame); ++i) {
    const PlaneForm form = plane_form(info, i);
    for (int y = 0; y < form.height; ++y) {
      const auto* row = static_cast<const guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, i)) +
                        gssize{y} * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, i);
      out.insert(out.end(), row, row + gssize{form.width} * form.channels * form.bytes);
    }
  }
  gst_video_frame_unmap(&frame);
  return out;
}

class DeviceOverlay : public test::Gpu {
 protected:
  /// Draws two frames with the same element, so that memory is used again.
  void expect_same(const std::string& format, const std::string& properties, bool with_stream,
                   const char* label = "Straße سيارة Привет") {
    g_autoptr(GstCaps) caps = gst_caps_from_string(drawn_caps(format).c_str());
    GstVideoInfo info;
    ASSERT_TRUE(gst_video_info_from_caps(&info, caps));
    const CudaScope scope(context);
    GstCudaStream* stream = with_stream ? gst_cuda_stream_new(test::cast(context)) : nullptr;
    {
      Harness host("boxoverlay " + properties, drawn_caps(format));
      Harness device("boxoverlay " + properties, drawn_caps(format, "(memory:CUDAMemory)"));
      for (const unsigned seed : {1u, 2u}) {
        Buffer plain = noisy_frame(info, seed);
        const auto before = visible_samples(plain.get(), info);
        Buffer there = test::on_device(context, drawn_caps(format), plain, stream);
        attach_all(plain.get(), label);
        attach_all(there.get(), label);
        const Buffer wanted = host.run(plain.release()), found = device.run(there.release());
        ASSERT_TRUE(found) << device.error();
        EXPECT_TRUE(static_cast<bool>(CudaContext::of(found.get()))) << "it stays on the device";
        const auto pixels = visible_samples(found.get(), info);
        EXPECT_EQ(pixels, visible_samples(wanted.get(), info)) << format << ' ' << properties;
        EXPECT_NE(pixels, before);
      }
    }
    if (stream != nullptr) gst_cuda_stream_unref(stream);
  }
};

TEST_F(DeviceOverlay, DrawsThePixelsOfTheHost) {
  for (const char* format : {"NV12", "I420", "YV12", "Y42B", "Y444", "RGBA", "BGRA", "ARGB", "RGBx",
                             "BGR", "P010_10LE", "P012_LE", "P016_LE", "I420_10LE", "Y444_16LE"})
    for (const bool with_stream : {true, false}) expect_same(format, "", with_stream);
}

TEST_F(DeviceOverlay, DrawsEveryKindOfMark) {
  expect_same("NV12", "thickness=5 font-scale=1.2 draw-trails=1", true);
  expect_same("NV12", "draw-boxes=false draw-labels=false draw-scores=false", true);
  expect_same("RGBA", "draw-masks=false draw-keypoints=false", true);
  expect_same("NV12", "thickness=40 draw-boxes=false draw-labels=false draw-scores=false", true);
  for (const char* thickness : {"thickness=1", "thickness=2", "thickness=3", "thickness=9"})
    expect_same("I420", std::string(thickness) + " draw-boxes=false font-scale=2.5", true);
}

TEST_F(DeviceOverlay, DrawsLettersOfOtherFonts) {
  const std::string chinese = test::font_file("Droid Sans Fallback");
  if (!chinese.contains("Droid")) GTEST_SKIP() << "Droid Sans Fallback is not installed";
  const test::OnlyFonts fonts{test::font_file("DejaVu Sans"), chinese};
  for (const char* format : {"NV12", "RGBA", "P010_10LE"})
    expect_same(format, "font-scale=1.2", true, "人 Straße سيارة Привет");
}

TEST_F(DeviceOverlay, ObscuresThePixelsOfTheHost) {
  for (const char* format : {"NV12", "RGBA", "P010_10LE"}) {
    expect_same(format, "blur=person pixelate=vehicle", true);
    expect_same(format, "pixelate=person blur-margin=0.3 draw-boxes=false", false);
  }
}

/// Frames of two decoders, each with a stream of its own, of which the first is late.
TEST_F(DeviceOverlay, DrawsOnFramesOfSeveralStreams) {
  g_autoptr(GstCaps) caps = gst_caps_from_string(drawn_caps("NV12").c_str());
  GstVideoInfo info;
  ASSERT_TRUE(gst_video_info_from_caps(&info, caps));
  const CudaScope scope(context);
  GstCudaStream* streams[] = {gst_cuda_stream_new(test::cast(context)),
                              gst_cuda_stream_new(test::cast(context))};
  {
    Harness device("boxoverlay", drawn_caps("NV12", "(memory:CUDAMemory)"));
    Harness host("boxoverlay", drawn_caps("NV12"));
    Buffer frames[2], drawn[2];
    for (unsigned i = 0; i < 2; ++i)
      frames[i] = test::on_device(context, drawn_caps("NV12"), noisy_frame(info, i), streams[i]);
    attach_all(frames[0].get());
    FrameBox one{.box = {8, 8, 90, 60}, .score = 0.5f};
    EXPECT_TRUE(
        attach_boxes(frames[1].get(), std::span(&one, 1), {.frame = {kDrawnWidth, kDrawnHeight}}));
    test::driver<CUresult(CUstream, CUhostFn, void*)>("cuLaunchHostFunc")(
        gst_cuda_stream_get_handle(streams[0]), [](void*) { usleep(20000); }, nullptr);
    for (unsigned i = 0; i < 2; ++i) drawn[i] = device.run(frames[i].release());
    Buffer wanted = noisy_frame(info, 0);
    attach_all(wanted.get());
    wanted = host.run(wanted.release());
    EXPECT_EQ(visible_samples(drawn[0].get(), info), visible_samples(wanted.get(), info));
  }
  for (GstCudaStream* stream : streams) gst_cuda_stream_unref(stream);
}

/// A frame that others hold too is copied, and stays as it was.
TEST_F(DeviceOverlay, LeavesSharedFramesAsTheyAre) {
  g_autoptr(GstCaps) caps = gst_caps_from_string(drawn_caps("NV12").c_str());
  GstVideoInfo info;
  ASSERT_TRUE(gst_video_info_from_caps(&info, caps));
  Harness device("boxoverlay", drawn_caps("NV12", "(memory:CUDAMemory)"));
  const Buffer plain = noisy_frame(info, 3);
  Buffer there = test::on_device(context, drawn_caps("NV12"), plain, nullptr);
  attach_all(there.get());
  const Buffer held(gst_buffer_ref(there.get()));
  const Buffer found = device.run(there.release());
  ASSERT_TRUE(found) << device.error();
  EXPECT_EQ(visible_samples(held.get(), info), visible_samples(plain.get(), info));
  EXPECT_NE(visible_samples(found.get(), info), visible_samples(plain.get(), info));
}

}  // namespace
}  // namespace keepbox
