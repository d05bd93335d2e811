// SPDX-License-Identifier: LGPL-2.1-or-later
// The painter: for any marks, it writes only pixels of the frame and nothing between or outside of
// its planes, and boxes change only pixels near them.
#include <gst/gst.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gst/overlay/paint.h"
#include "tests/fuzz/damage.h"
#include "tests/fuzz/drawnboxes.h"

namespace keepbox::fuzz {
namespace {

constexpr const char* kFormats[]{"RGB",  "BGR",  "RGBA", "BGRA", "ARGB",  "ABGR",
                                 "RGBx", "BGRx", "xRGB", "xBGR", "GRAY8", "I420",
                                 "YV12", "NV12", "NV21", "Y42B", "Y444"};
constexpr uint8_t kBackground = 7, kGap = 0xa5;

/// A frame in its own memory, with gaps between rows and planes.
class Picture {
 public:
  explicit Picture(Input& input) {
    const auto side = [&] {
      return static_cast<guint>(input.between(1, input.chance(90) ? 64 : 400));
    };
    const guint width = side(), height = side();
    gst_video_info_set_format(&info_, gst_video_format_from_string(input.pick(kFormats)), width,
                              height);
    gsize end = input.below(16);
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(&info_); ++p) {
      const gsize rows = plane_rows(p);
      info_.stride[p] = static_cast<gint>(plane_bytes(p) + input.below(9));
      info_.offset[p] = end;
      end += info_.stride[p] * rows + input.below(16);
    }
    info_.size = end;
    bytes.assign(end, kGap);
    for_pixels([&](gsize at) { bytes[at] = kBackground; });
  }

  /// Calls the function with the index of each byte that belongs to a plane.
  template <class Function>
  void for_pixels(Function function) const {
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(&info_); ++p)
      for (gsize y = 0; y < plane_rows(p); ++y)
        for (gsize x = 0; x < plane_bytes(p); ++x)
          function(info_.offset[p] + y * static_cast<gsize>(info_.stride[p]) + x);
  }

  void paint(Painter& painter, std::span<const Mark> marks, const Pen& pen) {
    GstBuffer* buffer = gst_buffer_new_wrapped_full(
        GST_MEMORY_FLAG_NO_SHARE, bytes.data(), bytes.size(), 0, bytes.size(), nullptr, nullptr);
    GstVideoFrame frame;
    if (!gst_video_frame_map(&frame, &info_, buffer, GST_MAP_READWRITE)) violated("no frame");
    HostCanvas canvas(frame);
    const Status done = painter.paint(canvas, marks, pen);
    gst_video_frame_unmap(&frame);
    gst_buffer_unref(buffer);
    if (!done) violated("not painted: " + done.error().message());
  }

  void check_gaps() const {
    std::vector<bool> pixels(bytes.size());
    for_pixels([&](gsize at) { pixels[at] = true; });
    for (size_t i = 0; i < bytes.size(); ++i)
      if (!pixels[i] && bytes[i] != kGap) violated("something between rows or planes was written");
  }

  /// Checks that pixels of the first plane far from all boxes are unchanged.
  void check_outside(std::span<const Mark> marks) const {
    const gsize pixel = static_cast<gsize>(GST_VIDEO_INFO_COMP_PSTRIDE(&info_, 0));
    for (gsize y = 0; y < plane_rows(0); ++y)
      for (gsize x = 0; x < plane_bytes(0); ++x) {
        const auto px = static_cast<double>(x / pixel), py = static_cast<double>(y);
        const auto covers = [&](const Mark& mark) {
          const auto [left, right] = std::minmax(mark.box.x1, mark.box.x2);
          const auto [top, bottom] = std::minmax(mark.box.y1, mark.box.y2);
          return px >= left - 2.0 && px <= right + 2.0 && py >= top - 2.0 && py <= bottom + 2.0;
        };
        const bool untouched =
            bytes[info_.offset[0] + y * static_cast<gsize>(info_.stride[0]) + x] == kBackground;
        if (!untouched && std::ranges::none_of(marks, covers))
          violated("a pixel far from all boxes was written");
      }
  }

  Size size() const {
    return {static_cast<uint32_t>(info_.width), static_cast<uint32_t>(info_.height)};
  }

  std::vector<uint8_t> bytes;

 private:
  gsize plane_bytes(guint plane) const {
    gsize most = 0;
    for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS(&info_); ++c)
      if (GST_VIDEO_INFO_COMP_PLANE(&info_, c) == plane)
        most = std::max(most, static_cast<gsize>(GST_VIDEO_INFO_COMP_WIDTH(&info_, c)) *
                                  static_cast<gsize>(GST_VIDEO_INFO_COMP_PSTRIDE(&info_, c)));
    return most;
  }
  gsize plane_rows(guint plane) const {
    guint component = 0;
    while (GST_VIDEO_INFO_COMP_PLANE(&info_, component) != plane) ++component;
    return static_cast<gsize>(GST_VIDEO_INFO_COMP_HEIGHT(&info_, component));
  }

  GstVideoInfo info_{};
};

Pen any_pen(Input& input, Size frame) {
  Pen pen = pen_for(frame);
  if (input.chance(30)) pen.thickness = static_cast<int>(input.between(1, 256));
  if (input.chance(20)) pen.font_scale = input.between(1, 320) / 10.0;
  if (input.chance(30)) pen.placement = LabelPlacement::kAbove;
  pen.outlines = !input.chance(10);
  pen.keypoint_threshold = static_cast<float>(input.below(11)) / 10;
  return pen;
}

bool is_plain(const Mark& mark) {
  const Box& b = mark.box;
  return mark.caption.empty() && mark.angle == 0 && mark.keypoints.points.empty() &&
         mark.mask.pixels == nullptr && std::isfinite(b.x1 + b.y1 + b.x2 + b.y2);
}

std::vector<Mark> any_marks(Input& input, const DrawnBoxes& drawn) {
  const bool plain = input.chance(30);
  std::vector<Mark> marks;
  for (const FrameBox& box : drawn.boxes) {
    Mark& mark =
        marks.emplace_back(Mark{.box = box.box, .score = 0.5f, .color = rgb(input.below(1 << 24))});
    if (plain) continue;
    mark.angle = box.angle;
    while (input.chance(50)) mark.caption.push_back(any_name(input));
    mark.keypoints = box.keypoints;
    mark.mask = box.mask;
  }
  return marks;
}

}  // namespace

const char* const kSurface = "overlay";

void set_up() { gst_init(nullptr, nullptr); }

void run_one(Input& input) {
  static Painter kept;
  Picture picture(input);
  const std::vector<uint8_t> before = picture.bytes;
  const DrawnBoxes drawn(input, 5, picture.size());
  const std::vector<Mark> marks = any_marks(input, drawn);
  const Pen pen = any_pen(input, picture.size());
  Picture other = picture;
  picture.paint(kept, marks, pen);
  picture.check_gaps();
  if (std::ranges::all_of(marks, is_plain)) picture.check_outside(marks);
  if (marks.empty() && picture.bytes != before) violated("a frame without marks was changed");
  Painter fresh;
  other.paint(fresh, marks, pen);
  if (other.bytes != picture.bytes) violated("what was painted before shows");
  count(picture.bytes == before ? "frames that stay" : "frames that change");
  count("marks", marks.size());
  count("captions without a place", fresh.left_out());
}

}  // namespace keepbox::fuzz
