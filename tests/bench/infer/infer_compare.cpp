// SPDX-License-Identifier: LGPL-2.1-or-later
// Compares tensors and boxes of the stock element and of tensorinfer.
#include <gst/analytics/analytics.h>
#include <gst/analytics/gsttensormeta.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/bench/infer/infer.h"

namespace keepbox::test {
namespace {

constexpr int kCompared = 8;  // frames

struct Box {
  GQuark type;
  float score;
  int x, y, width, height;
};

/// Results of all frames.
struct Results {
  int width = 0, height = 0;  // of the inference element's frames
  std::vector<std::vector<std::byte>> tensors;
  std::vector<std::vector<Box>> boxes;
  std::string error;
};

void keep_tensors(Results& results, GstBuffer* buffer) {
  gpointer state = nullptr;
  while (GstMeta* meta =
             gst_buffer_iterate_meta_filtered(buffer, &state, gst_tensor_meta_api_get_type())) {
    const auto* tensors = reinterpret_cast<const GstTensorMeta*>(meta);
    for (gsize i = 0; i < tensors->num_tensors; ++i) {
      GstMapInfo map;
      if (!gst_buffer_map(tensors->tensors[i]->data, &map, GST_MAP_READ)) continue;
      const auto* bytes = reinterpret_cast<const std::byte*>(map.data);
      results.tensors.emplace_back(bytes, bytes + map.size);
      gst_buffer_unmap(tensors->tensors[i]->data, &map);
    }
  }
}

void keep_boxes(Results& results, GstBuffer* buffer) {
  auto& boxes = results.boxes.emplace_back();
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  gpointer state = nullptr;
  GstAnalyticsMtd mtd;
  while (meta != nullptr && gst_analytics_relation_meta_iterate(
                                meta, &state, gst_analytics_od_mtd_get_mtd_type(), &mtd)) {
    Box box{.type = gst_analytics_od_mtd_get_obj_type(&mtd)};
    gst_analytics_od_mtd_get_location(&mtd, &box.x, &box.y, &box.width, &box.height, &box.score);
    boxes.push_back(box);
  }
}

void watch(GstElement* pipeline, const char* name, const char* pad_name,
           GstPadProbeCallback callback, Results& results) {
  GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline), name);
  GstPad* pad = gst_element_get_static_pad(element, pad_name);
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, callback, &results, nullptr);
  gst_object_unref(pad);
  gst_object_unref(element);
}

GstPadProbeReturn at_tensors(GstPad* pad, GstPadProbeInfo* info, gpointer user_data) {
  auto& results = *static_cast<Results*>(user_data);
  keep_tensors(results, gst_pad_probe_info_get_buffer(info));
  if (GstCaps* caps = gst_pad_get_current_caps(pad)) {
    const GstStructure* input = gst_caps_get_structure(caps, 0);
    gst_structure_get_int(input, "width", &results.width);
    gst_structure_get_int(input, "height", &results.height);
    gst_caps_unref(caps);
  }
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn at_boxes(GstPad*, GstPadProbeInfo* info, gpointer user_data) {
  keep_boxes(*static_cast<Results*>(user_data), gst_pad_probe_info_get_buffer(info));
  return GST_PAD_PROBE_OK;
}

/// @param chain with elements "infer", whose tensors are recorded, and "last", whose boxes are.
Results results_of(const std::string& chain, const Frames& frames, int count) {
  Results out;
  GError* error = nullptr;
  GstElement* pipeline =
      gst_parse_launch(("appsrc name=source ! " + chain + " ! fakesink").c_str(), &error);
  if (error == nullptr) {
    watch(pipeline, "infer", "src", at_tensors, out);
    watch(pipeline, "last", "src", at_boxes, out);
    GstElement* source = gst_bin_get_by_name(GST_BIN(pipeline), "source");
    feed(source, frames, count);
    gst_object_unref(source);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    GstBus* bus = gst_element_get_bus(pipeline);
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, 60 * GST_SECOND,
        static_cast<GstMessageType>(int{GST_MESSAGE_EOS} | int{GST_MESSAGE_ERROR}));
    if (message != nullptr && GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
      gst_message_parse_error(message, &error, nullptr);
    if (message == nullptr) out.error = "no end after 60 s";
    if (message != nullptr) gst_message_unref(message);
    gst_object_unref(bus);
    gst_element_set_state(pipeline, GST_STATE_NULL);
  }
  if (error != nullptr) out.error = error->message;
  g_clear_error(&error);
  g_clear_pointer(&pipeline, gst_object_unref);
  return out;
}

bool overlap(const Box& a, const Box& b) {
  const double across = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const double down = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  if (across <= 0 || down <= 0) return false;
  const double both = across * down;
  return both / (double(a.width) * a.height + double(b.width) * b.height - both) > 0.5;
}

struct Difference {
  double score = 0;
  size_t pairs = 0, alone = 0;
};

Difference differences(const Results& a, const Results& b) {
  Difference out;
  for (size_t frame = 0; frame < std::min(a.boxes.size(), b.boxes.size()); ++frame) {
    auto others = b.boxes[frame];
    for (const Box& box : a.boxes[frame]) {
      const auto like = std::ranges::find_if(
          others, [&](const Box& other) { return other.type == box.type && overlap(box, other); });
      if (like == others.end()) {
        ++out.alone;
        continue;
      }
      ++out.pairs;
      out.score = std::max(out.score, double{std::abs(like->score - box.score)});
      others.erase(like);
    }
    out.alone += others.size();
  }
  return out;
}

std::string decoder(const Options& options) {
  return " ! boxdecode" + (options.labels.empty() ? "" : " label-file=" + quoted(options.labels));
}

/// Returns tensorinfer configured like the stock variant: black borders positioned as by
/// videoconvertscale, R, G, B.
std::string ours(const Options& options) {
  return "tensorinfer name=infer provider=cpu channel-order=rgb resize-mode=letterbox-scaler "
         "pad-value=0 model-file=" +
         quoted(options.model) + decoder(options) + " name=last";
}

std::string stock(const Options& options) { return stock_element(options, true) + " name=infer"; }

std::string fitted(const Options& options, const std::string& input) {
  return "framesave ! videoconvertscale add-borders=true ! " + input + " ! " + stock(options) +
         decoder(options) + " ! framerestore name=last";
}

}  // namespace

Size stock_input(const Options& options) {
  const Frames frames = Frames::drawn("RGB", 64, 64, 1);
  const Results found = results_of(
      "videoconvertscale ! video/x-raw,format=RGB ! " + stock(options) + " ! identity name=last",
      frames, 1);
  return {found.width, found.height};
}

std::string fitted_caps(Size size) {
  return "video/x-raw,format=RGB,width=" + std::to_string(size.width) +
         ",height=" + std::to_string(size.height) + ",pixel-aspect-ratio=1/1";
}

nlohmann::ordered_json compare(const Options& options, const Frames& frames) {
  const Size size = stock_input(options);
  if (size.width == 0 || missing({.elements = {"tensorinfer", "boxdecode"}}) != "") return nullptr;
  const Frames plain = Frames::drawn("RGB", size.width, size.height, kCompared);
  const Results a = results_of(stock(options) + decoder(options) + " name=last", plain, kCompared);
  const Results b = results_of(ours(options), plain, kCompared);
  const Results c = results_of(fitted(options, fitted_caps(size)), frames, kCompared);
  const Results d = results_of(ours(options), frames, kCompared);
  for (const Results* each : {&a, &b, &c, &d})
    if (!each->error.empty()) return {{"error", each->error}};
  size_t bytes = 0;
  for (const auto& tensor : a.tensors) bytes += tensor.size();
  const Difference same = differences(a, b), other = differences(c, d);
  return {{"frames", kCompared},
          {"model_width", size.width},
          {"model_height", size.height},
          {"tensors", a.tensors.size()},
          {"tensor_bytes", bytes},
          {"tensors_equal", !a.tensors.empty() && a.tensors == b.tensors},
          {"boxes", same.pairs},
          {"boxes_alone", same.alone},
          {"score_difference", same.score},
          {"fitted_boxes", other.pairs},
          {"fitted_boxes_alone", other.alone},
          {"fitted_score_difference", other.score}};
}

}  // namespace keepbox::test
