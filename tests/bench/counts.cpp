// SPDX-License-Identifier: LGPL-2.1-or-later
// Times a frame of the counter, and of boxcount with the metas of its frames, for numbers of
// objects that walk across zones.
#include <gst/check/gstharness.h>
#include <gst/gst.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <format>
#include <string>
#include <utility>
#include <vector>

#include "core/count/counter.h"
#include "gst/metas/boxes.h"
#include "gst/metas/labels.h"

namespace keepbox {
namespace {

constexpr int64_t kStep = 1'000'000'000 / 30;
constexpr Size kFrame{1920, 1080};
constexpr int kFrames = 300;

/// Returns where an object is on a frame: it walks across the picture and comes back.
Corner place_of(int object, int frame) {
  const double way = object * 37.0 + frame * (1 + object % 7);
  const double x = std::fmod(way, 2.0 * kFrame.width);
  const double y = std::fmod(object * 91.0 + frame * (object % 3), kFrame.height);
  return {x < kFrame.width ? x : 2.0 * kFrame.width - x, y};
}

/// Returns zones that are the tiles of the picture, or all of it each.
std::vector<CountZone> zones_of(int count, bool tiles) {
  std::vector<CountZone> out;
  for (int i = 0; i < count; ++i) {
    const double w = tiles ? kFrame.width / 10.0 : kFrame.width,
                 h = tiles ? kFrame.height / 5.0 : kFrame.height;
    const double x = tiles ? i % 10 * w : 0, y = tiles ? i / 10 * h : 0;
    out.push_back({.name = "zone" + std::to_string(i),
                   .corners = {{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}});
  }
  return out;
}

double median(std::vector<double> times) {
  std::ranges::nth_element(times, times.begin() + static_cast<ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

/// Returns the median time of a frame of the counter in microseconds.
double time_counter(int objects, const CountShapes& shapes) {
  Counter counter;
  counter.set(shapes);
  std::vector<double> spent;
  for (int frame = 0; frame < kFrames; ++frame) {
    std::vector<CountPoint> points;
    for (int i = 0; i < objects; ++i)
      points.push_back(
          {.object = {0, static_cast<uint64_t>(i) + 1}, .at = place_of(i, frame), .height = 80});
    const auto begun = std::chrono::steady_clock::now();
    counter.see({.time = frame * kStep, .size = kFrame, .points = points});
    counter.take_events();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
    spent.push_back(took.count());
  }
  return median(std::move(spent));
}

GstBuffer* frame_of(int objects, int number) {
  GstBuffer* out = gst_buffer_new();
  GST_BUFFER_PTS(out) = static_cast<GstClockTime>(number * kStep);
  std::vector<FrameBox> list;
  for (int i = 0; i < objects; ++i) {
    const Corner at = place_of(i, number);
    const auto x = static_cast<float>(at.x), y = static_cast<float>(at.y);
    list.push_back({.box = {x - 20, y - 80, x + 20, y},
                    .score = 0.9f,
                    .label = g_quark_from_static_string("person"),
                    .class_id = 0,
                    .anchor = static_cast<uint32_t>(i)});
  }
  if (!attach_boxes(out, list, {})) return out;
  auto* meta = gst_buffer_get_analytics_relation_meta(out);
  for (size_t i = 0; i < list.size(); ++i) add_track(meta, list[i].od_id, {.id = i + 1});
  return out;
}

/// Returns the median time of a frame of boxcount in microseconds, by its statistics.
double time_element(int objects, const CountShapes& shapes) {
  std::string zones;
  for (const CountZone& zone : shapes.zones) {
    zones += zone.name + '=';
    for (const auto [x, y] : zone.corners) zones += std::format("{},{},", x, y);
    zones.back() = ';';
  }
  GstHarness* h = gst_harness_new("boxcount");
  g_object_set(h->element, "zones", zones.c_str(), nullptr);
  gst_harness_set_src_caps_str(h, "video/x-raw,format=RGB,width=1920,height=1080,framerate=30/1");
  std::vector<double> spent;
  double before = 0;
  for (int number = 0; number < kFrames; ++number) {
    gst_buffer_unref(gst_harness_push_and_pull(h, frame_of(objects, number)));
    g_autoptr(GstStructure) stats = nullptr;
    g_object_get(h->element, "stats", &stats, nullptr);
    double mean = 0;
    gst_structure_get_double(stats, "time-per-frame-us", &mean);
    const double now = mean * (number + 1);
    spent.push_back(now - std::exchange(before, now));
  }
  gst_harness_teardown(h);
  return median(std::move(spent));
}

}  // namespace
}  // namespace keepbox

int main(int argc, char** argv) {
  using namespace keepbox;
  gst_init(&argc, &argv);
  for (const bool tiles : {true, false})
    for (const int objects : {100, 1000}) {
      const CountShapes shapes{.lines = {}, .zones = zones_of(50, tiles)};
      std::printf("%4d objects, 50 zones %-16s %8.1f us counter  %8.1f us boxcount, medians\n",
                  objects, tiles ? "side by side" : "on one another", time_counter(objects, shapes),
                  time_element(objects, shapes));
    }
}
