// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes whose mask has no pixel of the object, which Ultralytics drops.
#include <algorithm>

#include "tests/gst/frames.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::Harness;
using test::Tensor;

constexpr const char* kCaps = "video/x-raw,format=RGB,width=64,height=64";

/// A frame of two boxes apart with these coefficients of one prototype, which is 1 everywhere.
GstBuffer* frame_of(float first, float second) {
  const Tensor planes{.values = {16, 48, 16, 48, 20, 20, 20, 20, 0.9f, 0.8f, first, second},
                      .shape = {1, 6, 2}};
  const Tensor maps{.values = std::vector<float>(256, 1.0f), .shape = {1, 1, 16, 16}};
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
  test::attach(frame, planes);
  test::attach(frame, maps);
  return frame;
}

std::string line(const std::string& contract) {
  return "boxdecode detector=yolov8-seg num-classes=1 model-size=64x64 "
         "nms-contract=" +
         contract;
}

guint number(Harness& h, const char* field) {
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(h.element(), "stats", &stats, nullptr);
  guint out = 0;
  EXPECT_TRUE(gst_structure_get_uint(stats, field, &out)) << field;
  return out;
}

TEST(EmptyMasks, AreDroppedByUltralyticsContractAlone) {
  for (const bool ultralytics : {true, false}) {
    Harness h(line(ultralytics ? "ultralytics" : "exact"), kCaps);
    const Buffer out = h.run(frame_of(1, -1));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(boxes(out).size(), ultralytics ? 1u : 2u);
    EXPECT_NEAR(boxes(out).at(0).score, 0.9f, 1e-6) << "the one with a mask";
    EXPECT_EQ(number(h, "kept"), 2u);
    EXPECT_EQ(number(h, "empty-masks"), ultralytics ? 1u : 0u);
    EXPECT_EQ(number(h, "attached"), ultralytics ? 1u : 2u);
  }
}

/// A tall mask with pixels in its last rows only.
TEST(EmptyMasks, HaveNoPixelInAnyRow) {
  constexpr size_t kRows = 32, kColumns = 16, kLast = 26;
  const Tensor plane{.values = {32, 64, 16, 112, 0.9f, 1}, .shape = {1, 6, 1}};
  Tensor map{.values = std::vector<float>(kRows * kColumns, -1), .shape = {1, 1, kRows, kColumns}};
  std::fill(map.values.begin() + kLast * kColumns, map.values.end(), 1.0f);
  Harness h(
      "boxdecode detector=yolov8-seg num-classes=1 model-size=64x128 "
      "nms-contract=ultralytics",
      "video/x-raw,format=RGB,width=64,height=128");
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
  test::attach(frame, plane);
  test::attach(frame, map);
  const Buffer out = h.run(frame);
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(boxes(out).size(), 1u);
  EXPECT_EQ(number(h, "empty-masks"), 0u);
}

TEST(MaskSize, NoneMakesNoMasks) {
  for (const auto& [size, masks] : {std::pair{"none", FALSE}, {"prototypes", TRUE}}) {
    Harness h(line("ultralytics mask-size=") + size, kCaps);
    const Buffer out = h.run(frame_of(1, -1));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(boxes(out).size(), masks ? 1u : 2u) << "without masks none is empty";
    g_autoptr(GstStructure) stats = nullptr;
    g_object_get(h.element(), "stats", &stats, nullptr);
    gboolean made = !masks;
    EXPECT_TRUE(gst_structure_get_boolean(stats, "masks", &made));
    EXPECT_EQ(made, masks) << size;
  }
}

TEST(EmptyMasks, AreAReasonForNoBox) {
  Harness h(line("ultralytics"), kCaps);
  const Buffer out = h.run(frame_of(-1, -1));
  ASSERT_TRUE(out) << h.error();
  EXPECT_TRUE(boxes(out).empty());
  EXPECT_EQ(number(h, "attached"), 0u);
  gst_harness_push_event(h.get(), gst_event_new_eos());
  test::expect_words(h.warning(), {"all masks were empty", "nms-contract=exact"});
}

}  // namespace
}  // namespace keepbox
