// SPDX-License-Identifier: LGPL-2.1-or-later
// Streams whose number of rows differs with each frame.
#include <gst/gst.h>

#include "tests/gst/decode/source.h"
#include "tests/gst/frames.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::Harness;
using test::Row;
using test::Tensor;

Tensor nameless(const std::vector<Row>& list) {
  Tensor out = test::rows(list);
  out.id.clear();
  return out;
}

/// Makes rows next to each other, of classes 0 to 2.
std::vector<Row> found(size_t count) {
  std::vector<Row> out;
  for (size_t i = 0; i < count; ++i) {
    const auto x = static_cast<float>(i % 25 * 25), y = static_cast<float>(i / 25 * 25);
    out.push_back({x, y, x + 15, y + 20, 0.9f, static_cast<float>(i % 3)});
  }
  return out;
}

GstBuffer* carrying(const Tensor& tensor) {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
  test::attach(frame, tensor);
  return frame;
}

TEST(DynamicRows, AnyNumberIsTheSameFamily) {
  Harness h("boxdecode max-detections=1000");
  // Numbers of cells of square inputs, and of three anchors per cell.
  for (const size_t count : {20, 63, 252, 21, 84, 189, 336, 0, 1, 525, 20}) {
    const Buffer out = h.run(carrying(nameless(found(count))));
    ASSERT_TRUE(out) << count << ": " << h.error();
    EXPECT_EQ(boxes(out).size(), count);
  }
  EXPECT_EQ(h.warning(), "");
}

TEST(DynamicRows, KeepTheirFamilyOnBlankFrames) {
  Harness h("boxdecode");
  ASSERT_TRUE(h.run(carrying(nameless(found(20))))) << h.error();
  // Blank rows; yolov5 has the same number.
  const Buffer out = h.run(carrying(nameless(std::vector<Row>(63))));
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(test::stat_text(h.element(), "detector"), "yolov10");
}

TEST(DynamicRows, OfAnyNumberAreNoGridOnTheFirstFrame) {
  for (const bool open : {true, false}) {
    Harness h("boxdecode on-mismatch=pass");
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
    TensorProvenance source;
    source.dynamic_rows = open;
    test::attach(frame, nameless(std::vector<Row>(63)),
                 std::make_shared<const TensorProvenance>(source));
    ASSERT_TRUE(h.run(frame)) << h.error();
    EXPECT_EQ(test::stat_text(h.element(), "detector"), open ? "yolov10" : "yolov5");
  }
}

TEST(DynamicRows, KeepTheirUnits) {
  Harness h("boxdecode");
  ASSERT_TRUE(h.run(carrying(nameless(found(5))))) << h.error();
  const Buffer tiny = h.run(carrying(nameless({{0.2f, 0.3f, 1.8f, 1.9f, 0.9f, 1}})));
  ASSERT_TRUE(tiny) << h.error();
  ASSERT_EQ(boxes(tiny).size(), 1u);
  EXPECT_FLOAT_EQ(boxes(tiny)[0].box.x2, 1.8f);
  const Buffer after = h.run(carrying(nameless(found(6))));
  ASSERT_TRUE(after);
  EXPECT_EQ(boxes(after).size(), 6u);
}

TEST(DynamicRows, OtherModelsAreRecognisedAgain) {
  Harness h("boxdecode");
  ASSERT_TRUE(h.run(carrying(nameless(found(20))))) << h.error();
  const Buffer out = h.run(carrying(test::crowd(1)));
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(test::stat_text(h.element(), "detector"), "yolov8");
}

}  // namespace
}  // namespace keepbox
