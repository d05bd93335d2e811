// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames with tensors, and elements under a harness with a bus.
#pragma once

#include <gst/check/gstharness.h>
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gst/metas/boxes.h"
#include "gst/tensors/tensors.h"
#include "tests/scene.h"

namespace keepbox::test {

inline GstBuffer* data_buffer(const void* data, size_t bytes) {
  return bytes == 0 ? gst_buffer_new() : gst_buffer_new_memdup(data, bytes);
}

inline void attach(GstBuffer* frame, const Tensor& tensor) {
  add_tensor(frame, tensor.id.c_str(), DataType::kFloat32, tensor.shape,
             GST_TENSOR_DIM_ORDER_ROW_MAJOR,
             data_buffer(tensor.values.data(), tensor.values.size() * sizeof(float)));
}

/// Caps of frames with the size of the crowd's input.
inline constexpr const char* kSmall = "video/x-raw,format=RGB,width=320,height=320";

/// Makes a crowd of boxes in YOLOv8 layout for an input of 320 x 320.
inline Tensor crowd(unsigned seed) {
  constexpr size_t kAnchors = 2100, kClasses = 6;
  std::mt19937 random(seed);
  const auto number = [&](float low, float high) {
    return low + (high - low) * static_cast<float>(random() % 65536) / 65536;
  };
  Tensor out{
      std::vector<float>((4 + kClasses) * kAnchors), {1, 4 + kClasses, kAnchors}, "yolo-v8-out"};
  for (size_t anchor = 0; anchor < kAnchors; ++anchor) {
    for (size_t row = 0; row < 4; ++row)
      out.values[row * kAnchors + anchor] = row < 2 ? number(0, 320) : number(4, 80);
    const size_t best = random() % kClasses;
    out.values[(4 + best) * kAnchors + anchor] = anchor % 7 == 0 ? number(0.2f, 1) : 0.01f;
  }
  return out;
}

inline size_t bytes_of(const Tensor& tensor) { return tensor.values.size() * sizeof(float); }

/// Makes a grey frame of a harness' default size with that tensor.
inline GstBuffer* frame_with(const std::vector<Row>& list) {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
  attach(frame, rows(list));
  return frame;
}

struct UnrefBuffer {
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
};
using Buffer = std::unique_ptr<GstBuffer, UnrefBuffer>;

inline Buffer empty_frame() { return Buffer(gst_buffer_new_allocate(nullptr, 64, nullptr)); }

/// An element (or line of elements) between pads of the test, with a bus.
class Harness {
 public:
  explicit Harness(const std::string& line,
                   const std::string& caps = "video/x-raw,format=RGB,width=640,height=640")
      : harness_(gst_harness_new_parse(line.c_str())), bus_(gst_bus_new()) {
    gst_element_set_bus(harness_->element, bus_);
    set_caps(caps);
  }
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;
  ~Harness() {
    gst_element_set_bus(harness_->element, nullptr);
    gst_harness_teardown(harness_);
    gst_object_unref(bus_);
  }

  void set_caps(const std::string& caps) { gst_harness_set_src_caps_str(harness_, caps.c_str()); }

  template <class... Args>
  void set(const char* name, Args... args) {
    g_object_set(element(), name, args..., nullptr);
  }

  /// Pushes a frame (transfer full) and pulls the result; null if there is none.
  Buffer run(GstBuffer* frame) {
    flow = gst_harness_push(harness_, frame);
    return Buffer(gst_harness_try_pull(harness_));
  }

  /// Returns the text of the next message of a type, or "".
  std::string message(GstMessageType type) {
    GstMessage* message = gst_bus_pop_filtered(bus_, type);
    if (message == nullptr) return {};
    g_autoptr(GError) error = nullptr;
    if (type == GST_MESSAGE_ERROR) gst_message_parse_error(message, &error, nullptr);
    else gst_message_parse_warning(message, &error, nullptr);
    gst_message_unref(message);
    return error->message;
  }
  /// Returns the number of element messages with that name. Others stay unread, errors too.
  size_t count(const char* name) {
    size_t out = 0;
    GQueue others = G_QUEUE_INIT;
    while (GstMessage* message = gst_bus_pop(bus_)) {
      if (gst_message_has_name(message, name)) ++out, gst_message_unref(message);
      else g_queue_push_tail(&others, message);
    }
    while (auto* message = static_cast<GstMessage*>(g_queue_pop_head(&others)))
      gst_bus_post(bus_, message);
    return out;
  }
  std::string error() { return message(GST_MESSAGE_ERROR); }
  std::string warning() { return message(GST_MESSAGE_WARNING); }

  GstHarness* get() { return harness_; }
  /// Returns the line's only element.
  GstElement* element() { return GST_ELEMENT(GST_BIN_CHILDREN(bin())->data); }
  GstBin* bin() { return GST_BIN(harness_->element); }

  GstFlowReturn flow = GST_FLOW_OK;

 private:
  GstHarness* harness_;
  GstBus* bus_;
};

/// Plays a line to its end. @return the error's text, or "".
inline std::string play(const std::string& line) {
  GError* parse = nullptr;
  GstElement* pipeline = gst_parse_launch(line.c_str(), &parse);
  EXPECT_EQ(parse, nullptr) << parse->message;
  GstBus* bus = gst_element_get_bus(pipeline);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  std::string text = message == nullptr ? "no end in 20 s" : "";
  if (message != nullptr && GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    g_autoptr(GError) error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    text = error->message;
  }
  if (message != nullptr) gst_message_unref(message);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
  return text;
}

inline void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
}

/// Returns a counter of a boxdecode's stats.
inline guint64 counted(GstElement* element, const char* field) {
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(element, "stats", &stats, nullptr);
  guint64 count = 0;
  EXPECT_TRUE(gst_structure_get_uint64(stats, field, &count)) << field;
  return count;
}

/// Returns a text of a boxdecode's stats.
inline std::string stat_text(GstElement* element, const char* field) {
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(element, "stats", &stats, nullptr);
  return gst_structure_get_string(stats, field);
}

/// The boxes on a buffer, from GStreamer's own meta.
struct Od {
  std::string label;
  gint x, y, w, h;
  float score;
  friend bool operator==(const Od&, const Od&) = default;
};

inline std::vector<Od> ods(const Buffer& buffer) {
  std::vector<Od> out;
  auto* meta = gst_buffer_get_analytics_relation_meta(buffer.get());
  EXPECT_NE(meta, nullptr) << "no relation meta";
  if (meta == nullptr) return out;
  gpointer state = nullptr;
  GstAnalyticsODMtd od;
  while (gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_od_mtd_get_mtd_type(),
                                             reinterpret_cast<GstAnalyticsMtd*>(&od))) {
    Od each{};
    gst_analytics_od_mtd_get_location(&od, &each.x, &each.y, &each.w, &each.h, &each.score);
    const GQuark label = gst_analytics_od_mtd_get_obj_type(&od);
    each.label = label != 0 ? g_quark_to_string(label) : "";
    out.push_back(each);
  }
  return out;
}

/// Reads our boxes with their float coordinates.
inline std::vector<FrameBox> boxes(const Buffer& buffer) {
  std::vector<FrameBox> out;
  EXPECT_TRUE(read_boxes(buffer.get(), out));
  return out;
}

/// True if GStreamer passes transforms to metas as a matrix.
inline bool has_matrix() {
  guint major = 0, minor = 0, micro = 0, nano = 0;
  gst_version(&major, &minor, &micro, &nano);
  return major > 1 || minor >= 28;
}

}  // namespace keepbox::test
