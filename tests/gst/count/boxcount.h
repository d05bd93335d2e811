// SPDX-License-Identifier: LGPL-2.1-or-later
// boxcount under a harness, and frames of tracked boxes for it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gst/metas/counts.h"
#include "gst/metas/labels.h"
#include "gst/metas/skippedmodels.h"
#include "gst/tensors/provenance.h"
#include "tests/gst/metas/frametext.h"
#include "tests/gst/metas/parts.h"

namespace keepbox::test::counting {

inline constexpr const char* kCountCaps =
    "video/x-raw,format=RGB,width=640,height=480,framerate=25/1,pixel-aspect-ratio=1/1";
inline constexpr const char* kGate = "lines=gate=0,300,640,300";
inline constexpr const char* kQueue = "zones=queue=100,100,500,100,500,400,100,400";
inline constexpr GstClockTime kCountStep = GST_SECOND / 25;

/// A box of 40 x 80 with an id, whose feet are at a place.
struct Walker {
  guint64 id;
  float x, y;
  const char* label = "person";
  const char* model = "street";
};

/// An element message, as text and with its fields.
struct Message {
  std::string text;  // such as "boxcount-crossed gate out 1"
  std::map<std::string, guint64> numbers;
};

struct Count : Harness {
  explicit Count(const std::string& props, const std::string& caps = kCountCaps)
      : Harness("boxcount " + props, caps) {}

  static FrameBox box_of(const Walker& walker) {
    FrameBox out = plain_box({walker.x - 20, walker.y - 80, walker.x + 20, walker.y}, 0.9f);
    out.label = g_quark_from_string(walker.label);
    out.model = g_quark_from_string(walker.model);
    return out;
  }
  /// Returns a frame with boxes. @param change a box before it is attached
  Buffer frame(const std::vector<Walker>& walkers, void (*change)(FrameBox&) = nullptr) {
    Buffer out = empty_frame();
    GST_BUFFER_PTS(out.get()) = number++ * kCountStep;
    std::vector<FrameBox> list;
    for (const Walker& each : walkers) {
      list.push_back(box_of(each));
      if (change != nullptr) change(list.back());
    }
    attach_boxes(out.get(), list, {});
    auto* meta = gst_buffer_get_analytics_relation_meta(out.get());
    for (size_t i = 0; i < list.size(); ++i)
      if (walkers[i].id != 0) add_track(meta, list[i].od_id, {.id = walkers[i].id});
    return out;
  }
  Buffer see(const std::vector<Walker>& walkers, void (*change)(FrameBox&) = nullptr) {
    return run(frame(walkers, change).release());
  }
  /// Runs frames of one object that goes down at x 320.
  Buffer walk(const std::vector<float>& ys, guint64 id = 1) {
    Buffer out;
    for (const float y : ys) out = see({{id, 320, y}});
    return out;
  }

  /// Returns the counts of a line of the last frame as "in/out".
  static std::string line(const Buffer& frame, size_t number = 0) {
    const FrameCounts* counts = counts_of(frame.get());
    if (counts == nullptr || counts->lines.size() <= number) return "none";
    const auto& [in, out] = counts->lines[number].crossed;
    return std::to_string(in) + '/' + std::to_string(out);
  }
  static const ZoneCount& zone(const Buffer& frame) { return counts_of(frame.get())->zones.at(0); }

  /// Returns the element messages so far.
  std::vector<Message> messages() {
    std::vector<Message> out;
    GstBus* bus = gst_element_get_bus(get()->element);
    while (GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT)) {
      out.push_back(message_of(gst_message_get_structure(message)));
      gst_message_unref(message);
    }
    gst_object_unref(bus);
    return out;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> out;
    for (const Message& each : messages()) out.push_back(each.text);
    return out;
  }

  guint number = 0;

 private:
  static Message message_of(const GstStructure* structure) {
    Message out{gst_structure_get_name(structure), {}};
    for (const char* field : {"name", "direction", "class", "model"})
      if (const char* text = gst_structure_get_string(structure, field))
        out.text += std::string(" ") + text;
    for (int i = 0; i < gst_structure_n_fields(structure); ++i) {
      const char* field = gst_structure_nth_field_name(structure, static_cast<guint>(i));
      guint64 value = 0;
      guint small = 0;
      if (gst_structure_get_uint64(structure, field, &value)) out.numbers[field] = value;
      else if (gst_structure_get_uint(structure, field, &small)) out.numbers[field] = small;
    }
    return out;
  }
};

/// Returns the error of a start with these properties, or "".
inline std::string error_of(const std::string& props) {
  GstElement* pipeline = gst_parse_launch(
      ("videotestsrc num-buffers=1 ! boxcount " + props + " ! fakesink").c_str(), nullptr);
  GstBus* bus = gst_element_get_bus(pipeline);
  gst_element_set_state(pipeline, GST_STATE_PAUSED);
  GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  std::string out;
  if (message != nullptr) {
    g_autoptr(GError) error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    out = error->message;
    gst_message_unref(message);
  }
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
  return out;
}

}  // namespace keepbox::test::counting
