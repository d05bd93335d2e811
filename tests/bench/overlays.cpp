// SPDX-License-Identifier: LGPL-2.1-or-later
// Time of boxoverlay for a frame of 1080p with 50 boxes, labels and masks: drawn on the frame,
// attached for downstream to draw, with the size of what is attached, and drawn in CUDA memory.
// usage: overlays [cuda]   only that
#include <gst/check/gstharness.h>
#include <gst/video/video.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "gst/metas/boxes.h"
#include "gst/metas/masks.h"
#include "gst/overlay/rendering.h"

namespace keepbox {
namespace {

constexpr int kWidth = 1920, kHeight = 1080, kBoxes = 50, kFrames = 60;
constexpr int kDeviceFrames = 8, kDeviceRounds = 300;
constexpr const char* kDraws = "video/x-raw(memory:SystemMemory,meta:GstVideoOverlayComposition)";

/// A frame, and boxes of different sizes, with the mask of a disc in each of them or in none.
class Scene {
 public:
  Scene(const char* format, bool masks) : masks_(masks) {
    gst_video_info_set_format(&info, gst_video_format_from_string(format), kWidth, kHeight);
    info.fps_n = 30;
    frame = gst_buffer_new_allocate(nullptr, info.size, nullptr);
    gst_buffer_memset(frame, 0, 96, info.size);
  }
  ~Scene() { gst_buffer_unref(frame); }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  void attach_to(GstBuffer* to) const {
    std::vector<FrameBox> boxes;
    std::vector<Mask> discs;
    for (int i = 0; i < kBoxes; ++i) {
      const auto x = static_cast<float>(i * 397 % (kWidth - 200));
      const auto y = static_cast<float>(i * 211 % (kHeight - 300));
      const auto side = static_cast<float>(50 + i * 37 % 150);
      boxes.push_back({.box = {x, y, x + side, y + 1.5f * side},
                       .score = 0.9f - 0.01f * static_cast<float>(i),
                       .label = g_quark_from_static_string("person"),
                       .class_id = static_cast<uint32_t>(i % 8),
                       .anchor = static_cast<uint32_t>(i)});
      discs.push_back({disc_.data(), 2, 0, 40, 60, boxes.back().box});
    }
    const MaskBuffers buffers = make_mask_buffers(discs);
    for (size_t i = 0; masks_ && i < boxes.size(); ++i) boxes[i].mask = buffers[i];
    (void)attach_boxes(to, boxes, {});
  }

  GstVideoInfo info{};
  GstBuffer* frame;

 private:
  static std::vector<uint32_t> make_disc() {
    std::vector<uint32_t> out(2 * 60);
    for (int y = 0; y < 60; ++y)
      for (int x = 0; x < 40; ++x)
        if ((x - 20) * (x - 20) * 9 + (y - 30) * (y - 30) * 4 < 3600)
          out[static_cast<size_t>(2 * y + x / 32)] |= 1u << x % 32;
    return out;
  }
  bool masks_;
  std::vector<uint32_t> disc_ = make_disc();
};

/// Returns the milliseconds that all threads ran, which a busy machine disturbs least.
double processor_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct Attached {
  guint rectangles = 0;
  size_t pixels = 0;
};

Attached attached_to(GstBuffer* buffer) {
  Attached out;
  const auto* meta = gst_buffer_get_video_overlay_composition_meta(buffer);
  if (meta == nullptr) return out;
  out.rectangles = gst_video_overlay_composition_n_rectangles(meta->overlay);
  for (guint i = 0; i < out.rectangles; ++i) {
    guint width = 0, height = 0;
    gst_video_overlay_rectangle_get_render_rectangle(
        gst_video_overlay_composition_get_rectangle(meta->overlay, i), nullptr, nullptr, &width,
        &height);
    out.pixels += size_t{width} * height;
  }
  return out;
}

void measure(const char* format, bool masks, Rendering how) {
  const Scene scene(format, masks);
  GstHarness* harness = gst_harness_new("boxoverlay");
  g_object_set(harness->element, "render", static_cast<int>(how), nullptr);
  const bool attach = how == Rendering::kAttach;
  gst_harness_set_sink_caps_str(harness, attach ? kDraws : "video/x-raw");
  gst_harness_set_src_caps(harness, gst_video_info_to_caps(&scene.info));
  std::vector<double> times;
  Attached found;
  for (int i = 0; i < kFrames; ++i) {
    GstBuffer* in = gst_buffer_copy_deep(scene.frame);
    scene.attach_to(in);
    const double start = processor_time();
    GstBuffer* out = gst_harness_push_and_pull(harness, in);
    times.push_back(processor_time() - start);
    found = attached_to(out);
    gst_buffer_unref(out);
  }
  gst_harness_teardown(harness);
  std::ranges::sort(times);
  std::printf("%-5s %-10s %-7s %6.2f ms", format, masks ? "masks" : "boxes",
              attach ? "attach" : "blend", times[times.size() / 2]);
  if (attach)
    std::printf("  %u rectangles, %.2f MB", found.rectangles,
                static_cast<double>(found.pixels) * 4e-6);
  std::puts("");
}

/// Frames of a scene in CUDA memory.
class Uploads {
 public:
  explicit Uploads(const Scene& scene) : harness_(gst_harness_new("cudaupload")) {
    gst_harness_set_sink_caps_str(harness_, "video/x-raw(memory:CUDAMemory)");
    gst_harness_set_src_caps(harness_, gst_video_info_to_caps(&scene.info));
  }
  ~Uploads() { gst_harness_teardown(harness_); }
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;

  /// Returns a frame with the boxes of a scene. transfer full
  GstBuffer* frame(const Scene& scene) const {
    GstBuffer* out =
        gst_buffer_make_writable(gst_harness_push_and_pull(harness_, gst_buffer_ref(scene.frame)));
    scene.attach_to(out);
    return out;
  }
  /// transfer full
  GstCaps* caps() const { return gst_pad_get_current_caps(harness_->sinkpad); }

 private:
  GstHarness* harness_;
};

/// Waits until a frame is drawn, which reading its samples does.
void wait_for(GstBuffer* frame) {
  GstMapInfo map;
  if (gst_buffer_map(frame, &map, GST_MAP_READ)) gst_buffer_unmap(frame, &map);
}

/// Draws the same frames again and again, and waits once.
void measure_on_device(const char* format, bool masks) {
  const Scene scene(format, masks);
  const Uploads uploads(scene);
  std::array<GstBuffer*, kDeviceFrames> frames{};
  for (GstBuffer*& frame : frames) frame = uploads.frame(scene);
  GstHarness* harness = gst_harness_new("boxoverlay");
  gst_harness_set_sink_caps(harness, uploads.caps());
  gst_harness_set_src_caps(harness, uploads.caps());
  const auto draw = [&] {
    for (GstBuffer*& frame : frames) frame = gst_harness_push_and_pull(harness, frame);
  };
  draw();
  wait_for(frames.back());
  const auto start = std::chrono::steady_clock::now();
  const double cpu = processor_time();
  for (int i = 0; i < kDeviceRounds; ++i) draw();
  wait_for(frames.back());
  const std::chrono::duration<double, std::micro> all = std::chrono::steady_clock::now() - start;
  constexpr int kAll = kDeviceFrames * kDeviceRounds;
  std::printf("%-5s %-10s CUDA    %6.2f ms of the processor, %.1f us from frame to frame\n", format,
              masks ? "masks" : "boxes", (processor_time() - cpu) / kAll, all.count() / kAll);
  for (GstBuffer* frame : frames) gst_buffer_unref(frame);
  gst_harness_teardown(harness);
}

/// True if there is a GPU that GStreamer's elements use.
bool has_device() {
  GstElement* upload = gst_element_factory_make("cudaupload", nullptr);
  if (upload == nullptr) return false;
  const bool ready = gst_element_set_state(upload, GST_STATE_READY) != GST_STATE_CHANGE_FAILURE;
  gst_element_set_state(upload, GST_STATE_NULL);
  gst_object_unref(upload);
  return ready;
}

}  // namespace
}  // namespace keepbox

int main(int argc, char** argv) {
  using namespace keepbox;
  gst_init(&argc, &argv);
  const bool only_cuda = argc > 1 && std::string_view(argv[1]) == "cuda";
  for (const char* format : {"NV12", "RGB"})
    for (const bool masks : {false, true})
      for (const Rendering how : {Rendering::kBlend, Rendering::kAttach})
        if (!only_cuda) measure(format, masks, how);
  if (!has_device()) return 0;
  for (const char* format : {"NV12", "RGBA"})
    for (const bool masks : {true, false}) measure_on_device(format, masks);
}
