// SPDX-License-Identifier: LGPL-2.1-or-later
// Times a frame of boxtrack by its `stats`: tracker and metas, on crowds of several sizes.
#include <gst/check/gstharness.h>
#include <gst/gst.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "gst/metas/boxes.h"
#include "tests/bench/trackcrowd.h"

namespace keepbox {
namespace {

constexpr GstClockTime kStep = GST_SECOND / 30;

/// Returns a frame with its boxes, as boxdecode attaches them.
GstBuffer* frame(size_t number, const std::vector<test::CrowdBox>& boxes) {
  GstBuffer* out = gst_buffer_new();
  GST_BUFFER_PTS(out) = number * kStep;
  std::vector<FrameBox> list;
  for (const test::CrowdBox& each : boxes)
    list.push_back({.box = each.box,
                    .score = each.score,
                    .label = g_quark_from_static_string("person"),
                    .class_id = 0,
                    .anchor = static_cast<uint32_t>(list.size())});
  attach_boxes(out, list, {.frame = {8192, 8192}});
  return out;
}

using Frames = std::vector<std::vector<test::CrowdBox>>;

/// Returns frames of boxes that do not overlap and move together.
Frames apart(int boxes, int frames) {
  Frames out(static_cast<size_t>(frames));
  for (int i = 0; i < frames; ++i)
    for (int k = 0; k < boxes; ++k) {
      const auto x = static_cast<float>(k % 40 * 100 + i), y = static_cast<float>(k / 40 * 200);
      out[static_cast<size_t>(i)].push_back({{x, y, x + 60, y + 120}, 0.9f, k});
    }
  return out;
}

/// Returns the time of all frames so far in microseconds.
double spent(GstElement* element, size_t frames) {
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(element, "stats", &stats, nullptr);
  double mean = 0;
  gst_structure_get_double(stats, "time-per-frame-us", &mean);
  return mean * static_cast<double>(frames);
}

/// Returns the median time of a frame in microseconds.
double time(const std::string& method, const Frames& frames) {
  GstHarness* h = gst_harness_new_parse(("boxtrack method=" + method).c_str());
  gst_harness_set_src_caps_str(
      h, "video/x-raw,format=RGB,width=8192,height=8192,framerate=30/1,pixel-aspect-ratio=1/1");
  GstElement* element = GST_ELEMENT(GST_BIN_CHILDREN(GST_BIN(h->element))->data);
  std::vector<double> each;
  double before = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    gst_buffer_unref(gst_harness_push_and_pull(h, frame(i, frames[i])));
    const double now = spent(element, i + 1);
    each.push_back(now - std::exchange(before, now));
  }
  gst_harness_teardown(h);
  std::ranges::nth_element(each, each.begin() + each.size() / 2);
  return each[each.size() / 2];
}

}  // namespace
}  // namespace keepbox

int main(int argc, char** argv) {
  using namespace keepbox;
  gst_init(&argc, &argv);
  constexpr int kFrames = 600;
  const auto print = [](const char* method, const char* name, int boxes, const Frames& frames) {
    std::printf("%-10s %-6s %5d boxes  %8.1f us median, metas included\n", method, name, boxes,
                time(method, frames));
  };
  for (const char* method : {"bytetrack", "sort", "oc-sort"})
    for (const int boxes : {100, 300, 1000}) {
      print(method, "apart", boxes, apart(boxes, kFrames));
      print(method, "crowd", boxes, crowd_frames(boxes, kFrames));
    }
}
