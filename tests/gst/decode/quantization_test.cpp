// SPDX-License-Identifier: LGPL-2.1-or-later
// Quantised tensors: the property with the scale and zero point of their values.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tests/dense.h"
#include "tests/gst/frames.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::dense;
using test::empty_frame;
using test::Harness;
using test::kSmall;
using test::Tensor;

constexpr const char* kScale = "0.0078125";
constexpr float kScaleValue = 0.0078125f, kZeroPoint = -120;
constexpr const char* kLine = "boxdecode score-threshold=0.5 detector=yolov8 ";

/// YOLOv8 planes in 0..1 as 8-bit values, and the real values that they represent.
struct Quantised {
  std::vector<float> stored;
  Tensor real;
};

Quantised quantised(unsigned seed) {
  Quantised out{.real = dense({.anchors = 2100, .classes = 5}, seed)};
  out.real.id = "out";
  for (size_t i = 0; i < out.real.values.size(); ++i) {
    float& value = out.real.values[i];
    if (i < size_t{4} * 2100) value /= 640;
    out.stored.push_back(std::clamp(std::round(value / kScaleValue + kZeroPoint), -128.0f, 127.0f));
    value = (out.stored.back() - kZeroPoint) * kScaleValue;
  }
  return out;
}

GstBuffer* real_frame(const Quantised& q) {
  GstBuffer* frame = empty_frame().release();
  test::attach(frame, q.real);
  return frame;
}

/// Makes a frame with integers, or with floats as from a runtime that has no integers.
GstBuffer* stored_frame(const Quantised& q, DataType type = DataType::kInt8) {
  Tensor stored = q.real;
  stored.values = q.stored;
  GstBuffer* frame = empty_frame().release();
  const std::vector<int8_t> whole(q.stored.begin(), q.stored.end());
  if (type == DataType::kInt8)
    add_tensor(frame, "out", type, stored.shape, GST_TENSOR_DIM_ORDER_ROW_MAJOR,
               test::data_buffer(whole.data(), whole.size()));
  else test::attach(frame, stored);
  return frame;
}

/// Prints a frame's boxes with all their bits.
std::string printed(const Buffer& frame) {
  std::string out;
  for (const FrameBox& box : boxes(frame)) {
    char line[200];
    std::snprintf(line, sizeof line, "%a %a %a %a %a %u %u\n", double{box.box.x1},
                  double{box.box.y1}, double{box.box.x2}, double{box.box.y2}, double{box.score},
                  box.class_id.value_or(99), box.anchor.value_or(0));
    out += line;
  }
  return out;
}

TEST(Quantization, GivesTheBoxesOfRealValues) {
  for (const char* backend : {"reference", "simd"})
    for (const std::string entry : {"", ":", "out:", "a:7:8, out : ", "5;out:"})
      for (unsigned seed = 1; seed <= 3; ++seed) {
        const auto type = seed == 3 && entry.contains("out") ? DataType::kFloat32 : DataType::kInt8;
        const std::string line = std::string(kLine) + "backend=" + backend;
        const Quantised q = quantised(seed);
        Harness plain(line, kSmall);
        Harness h(line + " quantization=\"" + entry + kScale + ":-120\"", kSmall);
        const Buffer expected = plain.run(real_frame(q)), found = h.run(stored_frame(q, type));
        ASSERT_TRUE(expected) << plain.error();
        ASSERT_TRUE(found) << h.error();
        EXPECT_GT(boxes(expected).size(), 10u);
        EXPECT_EQ(printed(found), printed(expected)) << backend << ' ' << entry;
      }
}

TEST(Quantization, WithoutAnIdAppliesToIntegers) {
  const Quantised q = quantised(1);
  Harness plain(kLine), all(std::string(kLine) + "quantization=3:5"),
      own(std::string(kLine) + "quantization=out:0.9");
  const Buffer expected = plain.run(real_frame(q));
  const Buffer same = all.run(real_frame(q)), smaller = own.run(real_frame(q));
  ASSERT_TRUE(same && smaller) << all.error() << own.error();
  EXPECT_EQ(printed(same), printed(expected));
  EXPECT_NE(printed(smaller), printed(expected));
}

TEST(Quantization, ChangesWhileStreaming) {
  const Quantised q = quantised(1);
  Harness plain(kLine), h(std::string(kLine) + "quantization=out:1");
  const Buffer expected = plain.run(real_frame(q));
  ASSERT_TRUE(h.run(real_frame(q))) << h.error();
  h.set("quantization", (std::string("out:") + kScale + ":-120").c_str());
  const Buffer found = h.run(stored_frame(q));
  ASSERT_TRUE(expected && found) << h.error();
  EXPECT_EQ(printed(found), printed(expected));
  h.set("quantization", "x");
  const Buffer kept = h.run(stored_frame(q));
  ASSERT_TRUE(kept) << h.error();
  EXPECT_EQ(printed(kept), printed(expected));
  EXPECT_NE(h.warning().find("\"x\""), std::string::npos);
}

TEST(Quantization, UnknownTensorsAreOneWarning) {
  const Quantised q = quantised(1);
  Harness h(std::string(kLine) + "quantization=boxes:2,,scores:3,out:" + kScale + ":-120");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(h.run(stored_frame(q))) << h.error();
  const std::string warning = h.warning();
  for (const char* word : {"boxes", "scores", "out 1x9x2100 int8"})
    EXPECT_NE(warning.find(word), std::string::npos) << warning;
  EXPECT_EQ(warning.find("names (boxes, scores, out"), std::string::npos) << warning;
  EXPECT_EQ(h.warning(), "");
}

TEST(Quantization, IdsMayHaveColons) {
  Buffer frame = empty_frame();
  test::attach(frame.get(), {{10, 20, 30, 40, 90, 3}, {1, 1, 6}, "Partitioned:1"});
  Harness h("boxdecode detector=yolov10 quantization=Partitioned:1:0.01:0");
  const Buffer out = h.run(frame.release());
  ASSERT_TRUE(out) << h.error();
  ASSERT_EQ(boxes(out).size(), 1u);
  EXPECT_FLOAT_EQ(boxes(out)[0].score, 0.9f);
}

TEST(Quantization, ReportsErrorsBeforeTheFirstFrame) {
  for (const char* wrong : {"x", "out:", "out:x", "out:1:x", "0", "-1", "out:0:3", "nan", "inf",
                            "1:inf", "1,2", "out:1,out:2", "1e99", "out:1:2:"}) {
    GstElement* element = gst_element_factory_make("boxdecode", nullptr);
    GstBus* bus = gst_bus_new();
    gst_element_set_bus(element, bus);
    g_object_set(element, "quantization", wrong, nullptr);
    EXPECT_EQ(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE) << wrong;
    g_autoptr(GstMessage) message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    ASSERT_NE(message, nullptr) << wrong;
    g_autoptr(GError) error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    for (const char* word : {"quantization has", "Set quantization="})
      EXPECT_NE(std::string(error->message).find(word), std::string::npos) << error->message;
    gst_element_set_state(element, GST_STATE_NULL);
    gst_element_set_bus(element, nullptr);
    gst_object_unref(bus);
    gst_object_unref(element);
  }
}

TEST(Quantization, MayBeEmpty) {
  for (const char* empty : {"", " ", ",", "; ,"}) {
    Harness h("boxdecode");
    h.set("quantization", empty);
    EXPECT_TRUE(h.run(test::frame_with({{10, 20, 300, 400, 0.9f, 1}}))) << h.error();
  }
}

}  // namespace
}  // namespace keepbox
