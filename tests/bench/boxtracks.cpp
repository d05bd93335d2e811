// SPDX-License-Identifier: LGPL-2.1-or-later
// Times a frame of boxtrack by its `stats`: tracker and metas, on crowds of several sizes.
#include <gst/check/gstharness.h>
#include <gst/gst.h>

#include <cstdio>
#include <string>
#include <vector>

#include "gst/metas/attachboxes.h"
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

/// Returns the mean time of a frame in microseconds.
double time(const std::string& method, int people, int frames) {
  GstHarness* h = gst_harness_new_parse(("boxtrack method=" + method).c_str());
  gst_harness_set_src_caps_str(
      h, "video/x-raw,format=RGB,width=8192,height=8192,framerate=30/1,pixel-aspect-ratio=1/1");
  const auto crowd = crowd_frames(people, frames);
  for (size_t i = 0; i < crowd.size(); ++i)
    gst_buffer_unref(gst_harness_push_and_pull(h, frame(i, crowd[i])));
  GstElement* element = GST_ELEMENT(GST_BIN_CHILDREN(GST_BIN(h->element))->data);
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(element, "stats", &stats, nullptr);
  double out = 0;
  gst_structure_get_double(stats, "time-per-frame-us", &out);
  gst_harness_teardown(h);
  return out;
}

}  // namespace
}  // namespace keepbox

int main(int argc, char** argv) {
  using namespace keepbox;
  gst_init(&argc, &argv);
  for (const char* method : {"bytetrack", "sort", "oc-sort"})
    for (const int people : {100, 300, 1000})
      std::printf("%-10s crowd  %5d boxes  %8.1f us mean, metas included\n", method, people,
                  time(method, people, 600));
}
