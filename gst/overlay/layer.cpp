// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws on transparent pixels: blending an opaque colour on these makes premultiplied alpha.
#include "gst/overlay/layer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gst/overlay/raster/raster.h"

namespace keepbox {
namespace {

constexpr GstVideoFormat kLayerFormat = GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB;
constexpr int kPixel = 4;  // bytes

/// Returns the part of a frame under a part of the layer.
cv::Rect on_frame(const cv::Rect& at, Size frame, cv::Size layer) {
  const auto x = [&](int v) { return static_cast<int>(int64_t{v} * frame.width / layer.width); };
  const auto y = [&](int v) { return static_cast<int>(int64_t{v} * frame.height / layer.height); };
  const cv::Point first(x(at.x), y(at.y)), last(x(at.br().x), y(at.br().y));
  return {first, last};
}

/// Returns a composition of the rectangles that a buffer has, which are the same so that sinks keep
/// their textures, and removes them from the buffer. Transfer full.
GstVideoOverlayComposition* take_composition(GstBuffer* buffer) {
  GstVideoOverlayComposition* out = gst_video_overlay_composition_new(nullptr);
  auto* meta = gst_buffer_get_video_overlay_composition_meta(buffer);
  if (meta == nullptr) return out;
  for (guint i = 0; i < gst_video_overlay_composition_n_rectangles(meta->overlay); ++i)
    gst_video_overlay_composition_add_rectangle(
        out, gst_video_overlay_composition_get_rectangle(meta->overlay, i));
  gst_buffer_remove_video_overlay_composition_meta(buffer, meta);
  return out;
}

}  // namespace

/// The layer as a raster that notes the tiles that it draws on.
class Layer::Pixels final : public Raster {
 public:
  Pixels(cv::Mat pixels, cv::Mat& touched) : raster_(std::move(pixels)), touched_(touched) {}

  void fill(size_t plane, const cv::Rect& at, const Paint& paint) override {
    touch(at);
    raster_.fill(plane, at, paint);
  }
  void blend(const cv::Mat& cover, std::span<const Ink> inks, int gain, cv::Mat& coarse) override {
    touch(inks.front().at);
    raster_.blend(cover, inks, gain, coarse);
  }
  cv::Mat take(size_t plane, const cv::Rect& at) override { return raster_.take(plane, at); }
  void put(size_t plane, const cv::Rect& at, const cv::Mat& pixels) override {
    touch(at);
    raster_.put(plane, at, pixels);
  }

 private:
  void touch(const cv::Rect& at) {
    if (at.empty()) return;
    const cv::Point first(at.x / kTile, at.y / kTile);
    const cv::Point last((at.br().x - 1) / kTile + 1, (at.br().y - 1) / kTile + 1);
    touched_(cv::Rect(first, last)).setTo(1);
  }

  HostRaster raster_;
  cv::Mat& touched_;
};

void Layer::resize(cv::Size size) {
  if (pixels_.size() == size) return;
  pixels_ = cv::Mat::zeros(size, CV_8UC4);
  touched_ =
      cv::Mat::zeros((size.height + kTile - 1) / kTile, (size.width + kTile - 1) / kTile, CV_8U);
}

/// Joins tiles next to each other, and equal rows of them.
std::vector<cv::Rect> Layer::drawn() const {
  std::vector<cv::Rect> out;
  const auto add = [&out](const cv::Rect& run) {
    const auto above = std::ranges::find_if(out, [&](const cv::Rect& r) {
      return r.x == run.x && r.width == run.width && r.br().y == run.y;
    });
    if (above != out.end()) ++above->height;
    else out.push_back(run);
  };
  for (int y = 0; y < touched_.rows; ++y) {
    const uint8_t* row = touched_.ptr(y);
    for (int x = 0; x < touched_.cols; ++x) {
      const int first = x;
      while (x < touched_.cols && row[x] != 0) ++x;
      if (x > first) add({first, y, x - first, 1});
    }
  }
  return out;
}

/// Moves the pixels of some tiles to a buffer, which leaves them transparent.
GstBuffer* Layer::cut(const cv::Rect& at) {
  const gsize stride = gsize{kPixel} * static_cast<gsize>(at.width);
  const gsize size = stride * static_cast<gsize>(at.height);
  auto* bytes = static_cast<uint8_t*>(g_malloc(size));
  for (int y = 0; y < at.height; ++y) {
    uint8_t* row = pixels_.ptr(at.y + y, at.x);
    std::memcpy(bytes + gsize(y) * stride, row, stride);
    std::memset(row, 0, stride);
  }
  GstBuffer* out = gst_buffer_new_wrapped(bytes, size);
  gst_buffer_add_video_meta(out, GST_VIDEO_FRAME_FLAG_NONE, kLayerFormat,
                            static_cast<guint>(at.width), static_cast<guint>(at.height));
  return out;
}

void Layer::add(GstBuffer* buffer, Size frame) {
  GstVideoOverlayComposition* all = take_composition(buffer);
  const cv::Rect bounds({0, 0}, pixels_.size());
  for (const cv::Rect& tiles : drawn()) {
    const cv::Rect at = cv::Rect(tiles.tl() * kTile, tiles.size() * kTile) & bounds;
    const cv::Rect shown = on_frame(at, frame, bounds.size());
    GstBuffer* pixels = cut(at);
    GstVideoOverlayRectangle* rectangle = gst_video_overlay_rectangle_new_raw(
        pixels, shown.x, shown.y, static_cast<guint>(shown.width), static_cast<guint>(shown.height),
        GST_VIDEO_OVERLAY_FORMAT_FLAG_PREMULTIPLIED_ALPHA);
    gst_video_overlay_composition_add_rectangle(all, rectangle);
    gst_video_overlay_rectangle_unref(rectangle);
    gst_buffer_unref(pixels);
  }
  touched_.setTo(0);
  if (gst_video_overlay_composition_n_rectangles(all) > 0)
    gst_buffer_add_video_overlay_composition_meta(buffer, all);
  gst_video_overlay_composition_unref(all);
}

Status Layer::attach(GstBuffer* buffer, Size frame, float by,
                     const std::function<void(Canvas&)>& act) {
  const auto scaled = [by](uint32_t side) {
    return std::max(1, cvRound(static_cast<float>(side) * by));
  };
  const cv::Size layer(scaled(frame.width), scaled(frame.height));
  GstVideoInfo info;
  if (!gst_video_info_set_format(&info, kLayerFormat, static_cast<guint>(layer.width),
                                 static_cast<guint>(layer.height)))
    return reject(ErrorKind::kUnsupported, "The frame is too large to attach boxes to");
  resize(layer);
  Pixels raster(pixels_, touched_);
  Canvas canvas(info, raster);
  act(canvas);
  add(buffer, frame);
  return {};
}

}  // namespace keepbox
