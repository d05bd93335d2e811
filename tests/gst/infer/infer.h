// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames, models and a runtime for tests of tensorinfer.
#pragma once

#include <gst/video/video.h>

#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "gst/infer/onnx/runtime.h"
#include "tests/gst/frames.h"
#include "tests/onnxmodels.h"
#include "tests/tempdir.h"

namespace keepbox::test {

/// True if a library of ONNX Runtime can be loaded.
inline bool have_runtime() { return OnnxRuntime::load().has_value(); }

/// Tests that run models; they are skipped without ONNX Runtime.
class Inference : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!have_runtime()) GTEST_SKIP() << "no ONNX Runtime";
  }

  /// Writes a model, unless it is there already: another element may be loading it.
  std::string file(const onnx::Model& model, const std::string& name = "model.onnx") {
    const std::string content = model.file();
    std::ifstream there(dir_ / name, std::ios::binary);
    if (there && std::string(std::istreambuf_iterator<char>(there), {}) == content)
      return dir_ / name;
    return dir_.write(name, content);
  }
  /// Returns the element with that model, for gst_parse_launch().
  std::string infer(const onnx::Model& model, const std::string& more = "") {
    return "tensorinfer model-file=" + file(model) + " " + more;
  }

  TempDir dir_;
};

/// The three components of a pixel: R, G, B, or Y, U, V for YUV formats.
using Pixel = std::array<uint8_t, 3>;
using Paint = std::function<Pixel(int x, int y)>;

/// Returns a different value for each position and channel.
inline Pixel noise(int x, int y) {
  return {static_cast<uint8_t>(x * 7 + y * 13), static_cast<uint8_t>(x * 31 ^ y * 17),
          static_cast<uint8_t>(x * y * 3 + x + 40)};
}

inline Pixel grey(int, int) { return {114, 114, 114}; }

struct Rect {
  int x1, y1, x2, y2;
  bool has(int x, int y) const { return x >= x1 && x < x2 && y >= y1 && y < y2; }
};

/// Paints grey with a red and a blue rectangle.
inline Paint patches(Rect red, Rect blue = {}) {
  return [=](int x, int y) -> Pixel {
    if (red.has(x, y)) return {255, 0, 0};
    return blue.has(x, y) ? Pixel{0, 0, 255} : grey(x, y);
  };
}

inline std::string raw(const std::string& format, int width, int height,
                       const std::string& more = "") {
  return "video/x-raw,format=" + format + ",width=" + std::to_string(width) +
         ",height=" + std::to_string(height) + ",framerate=30/1" + more;
}

/// Makes a frame with these caps. Bytes and components that are not colours are 0x5a.
/// @param extra bytes before the first plane and after each row, as described by a GstVideoMeta.
inline GstBuffer* painted(const std::string& caps_text, const Paint& paint, gsize extra = 0) {
  g_autoptr(GstCaps) caps = gst_caps_from_string(caps_text.c_str());
  GstVideoInfo info;
  EXPECT_TRUE(gst_video_info_from_caps(&info, caps)) << caps_text;
  gsize size = extra;
  for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES(&info) && extra > 0; ++i) {
    info.offset[i] = size;
    info.stride[i] += static_cast<gint>(extra);
    gint component[GST_VIDEO_MAX_COMPONENTS];
    gst_video_format_info_component(info.finfo, i, component);
    size += static_cast<gsize>(info.stride[i]) * GST_VIDEO_INFO_COMP_HEIGHT(&info, component[0]);
  }
  if (extra > 0) info.size = size;
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  gst_buffer_memset(buffer, 0, 0x5a, info.size);
  if (extra > 0) {
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                   GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info),
                                   GST_VIDEO_INFO_N_PLANES(&info), info.offset, info.stride);
  }
  GstVideoFrame frame;
  EXPECT_TRUE(gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE)) << caps_text;
  for (guint c = 0; c < std::min(GST_VIDEO_INFO_N_COMPONENTS(&info), 3u); ++c) {
    auto* data = static_cast<guint8*>(GST_VIDEO_FRAME_COMP_DATA(&frame, c));
    for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, c); ++y)
      for (int x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&frame, c); ++x)
        data[y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c) +
             x * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c)] =
            paint(x << info.finfo->w_sub[c], y << info.finfo->h_sub[c])[c];
  }
  gst_video_frame_unmap(&frame);
  return buffer;
}

/// A tensor of a frame, converted to floats.
struct Numbers {
  std::string id;
  DataType type;
  std::vector<size_t> dims;
  std::vector<float> values;
};

inline std::vector<Numbers> tensors_of(GstBuffer* buffer) {
  FrameTensors tensors;
  EXPECT_TRUE(tensors.list_tensors(buffer));
  EXPECT_TRUE(tensors.map_all());
  std::vector<Numbers> out;
  for (const TensorView& view : tensors.views()) {
    const auto dims = view.shape.dims();
    Numbers& each = out.emplace_back(std::string(view.id), view.type,
                                     std::vector<size_t>(dims.begin(), dims.end()));
    each.values.resize(view.shape.count().value_or(0));
    for (size_t i = 0; i < each.values.size(); ++i) each.values[i] = load(view, i);
  }
  return out;
}

/// Returns the only tensor of a frame.
inline Numbers tensor_of(const Buffer& buffer) {
  const auto all = buffer ? tensors_of(buffer.get()) : std::vector<Numbers>{};
  EXPECT_EQ(all.size(), 1u);
  return all.empty() ? Numbers{} : all[0];
}

/// The position of a frame in a model's input.
struct Fit {
  int width, height;  // size of the input
  Rect place;
};

/// Returns an interpolated colour of a frame between pixel centres.
inline float blended(const Paint& paint, int width, int height, double x, double y,
                     size_t channel) {
  const auto at = [&](double px, double py) {
    return paint(std::clamp(static_cast<int>(px), 0, width - 1),
                 std::clamp(static_cast<int>(py), 0, height - 1))[channel];
  };
  const double left = std::floor(x), top = std::floor(y), dx = x - left, dy = y - top;
  return static_cast<float>((at(left, top) * (1 - dx) + at(left + 1, top) * dx) * (1 - dy) +
                            (at(left, top + 1) * (1 - dx) + at(left + 1, top + 1) * dx) * dy);
}

/// Computes the input's planes R, G, B in 0..255 without optimisation.
inline std::vector<float> planes(const Paint& paint, int width, int height, const Fit& fit,
                                 float pad = 114) {
  std::vector<float> out;
  const Rect& p = fit.place;
  for (size_t channel = 0; channel < 3; ++channel)
    for (int y = 0; y < fit.height; ++y)
      for (int x = 0; x < fit.width; ++x) {
        const double sx = (x - p.x1 + 0.5) * width / (p.x2 - p.x1) - 0.5;
        const double sy = (y - p.y1 + 0.5) * height / (p.y2 - p.y1) - 0.5;
        out.push_back(p.has(x, y) ? blended(paint, width, height, sx, sy, channel) : pad);
      }
  return out;
}

/// Returns the maximum difference between a tensor's values times `scale` and the expected ones.
inline float apart(const Numbers& tensor, const std::vector<float>& expected, float scale = 255) {
  if (tensor.values.size() != expected.size()) return INFINITY;
  float most = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const float off = std::abs(tensor.values[i] * scale - expected[i]);
    most = off <= most ? most : off;
  }
  return most;
}

/// True if there is a box of that label within `most` pixels of the rectangle.
inline bool has_box(const Buffer& buffer, const char* label, const Rect& at, float most = 1.6f) {
  for (const FrameBox& each : boxes(buffer)) {
    const Box& b = each.box;
    const float off = std::max(
        {std::abs(b.x1 - static_cast<float>(at.x1)), std::abs(b.y1 - static_cast<float>(at.y1)),
         std::abs(b.x2 - static_cast<float>(at.x2)), std::abs(b.y2 - static_cast<float>(at.y2))});
    if (off <= most && std::string(g_quark_to_string(each.label)) == label) return true;
  }
  return false;
}

}  // namespace keepbox::test
