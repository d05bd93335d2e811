// SPDX-License-Identifier: LGPL-2.1-or-later
// boxdecode in a stream: changes of properties, counters, restarts, memory of frames.
#include <atomic>
#include <thread>

#include "gst/decode/properties.h"
#include "tests/dense.h"
#include "tests/gst/decode/rows.h"
#include "tests/gst/frames.h"
#include "tests/recorded.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::expect_words;
using test::frame_with;
using test::Harness;
using test::kTwo;
using test::ods;

TEST(Boxdecode, TakesChangesWhileStreaming) {
  const test::TempDir dir;
  Harness h("boxdecode");
  EXPECT_EQ(ods(h.run(frame_with(kTwo))).size(), 2u);
  h.set("score-threshold", 0.7);
  EXPECT_EQ(ods(h.run(frame_with(kTwo))).size(), 1u);
  h.set("score-threshold", 0.5, "include-classes", "!2");
  EXPECT_EQ(ods(h.run(frame_with(kTwo)))[0].label, "class-7");
  h.set("include-classes", "", "class-thresholds", "2:0.95");
  EXPECT_EQ(ods(h.run(frame_with(kTwo))).size(), 1u);
  h.set("class-thresholds", "", "label-file", dir.write("l", "a\nb\nc\n").c_str());
  EXPECT_EQ(ods(h.run(frame_with(kTwo)))[0].label, "c");
  h.set("include-classes", "c", "max-detections", 1);
  EXPECT_EQ(ods(h.run(frame_with(kTwo))).size(), 1u);
  h.set("include-classes", "nobody");
  EXPECT_EQ(ods(h.run(frame_with(kTwo))).size(), 1u);
  expect_words(h.warning(), {"nobody", "include-classes="});
}

TEST(Boxdecode, IsSafeWhenPropertiesChangeMeanwhile) {
  Harness h("boxdecode");
  std::atomic<bool> done = false;
  std::thread other([&] {
    for (int i = 0; !done; ++i) {
      h.set("score-threshold", i % 2 ? 0.2 : 0.7, "include-classes", i % 3 ? "" : "2,7",
            "also-attach", i % 2 ? kAttachClass : 0u, "threads", 1 + i % 4);
      g_autoptr(GstStructure) stats = nullptr;
      g_object_get(h.element(), "stats", &stats, nullptr);
    }
  });
  for (int i = 0; i < 300; ++i) {
    const Buffer out = h.run(frame_with(kTwo));
    ASSERT_TRUE(out) << h.error();
    const size_t count = ods(out).size();
    EXPECT_TRUE(count == 1 || count == 2);
  }
  done = true;
  other.join();
}

TEST(Boxdecode, KeepsTensorsOfASharedFrame) {
  Harness h("boxdecode");
  GstBuffer* frame = frame_with(kTwo);
  const Buffer held(gst_buffer_ref(frame));
  const Buffer out = h.run(frame);
  ASSERT_TRUE(out) << h.error();
  EXPECT_NE(out.get(), held.get());
  EXPECT_EQ(ods(out).size(), 2u);
  EXPECT_EQ(gst_buffer_get_analytics_relation_meta(held.get()), nullptr);
  EXPECT_NE(gst_buffer_get_tensor_meta(out.get()), nullptr);
}

TEST(Boxdecode, NeverMapsTheFrame) {
  Harness h("boxdecode", "video/x-raw(memory:Nowhere),format=NV12,width=640,height=640");
  GstBuffer* frame = gst_buffer_new();  // nothing to map at all
  test::attach(frame, test::rows(kTwo));
  const Buffer out = h.run(frame);
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(ods(out).size(), 2u);
}

TEST(Boxdecode, CountsInStats) {
  Harness h("boxdecode include-classes=!7 on-mismatch=pass");
  h.run(gst_buffer_new_allocate(nullptr, 64, nullptr));
  h.run(frame_with(kTwo));
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(h.element(), "stats", &stats, nullptr);
  guint64 frames = 0, mismatches = 0;
  guint anchors = 0, above = 0, filtered = 0, attached = 0;
  ASSERT_TRUE(gst_structure_get(
      stats, "frames", G_TYPE_UINT64, &frames, "mismatches", G_TYPE_UINT64, &mismatches, "anchors",
      G_TYPE_UINT, &anchors, "above-threshold", G_TYPE_UINT, &above, "after-class-filter",
      G_TYPE_UINT, &filtered, "attached", G_TYPE_UINT, &attached, nullptr));
  EXPECT_EQ(frames, 2u);
  EXPECT_EQ(mismatches, 1u);
  EXPECT_EQ(anchors, 2u);
  EXPECT_EQ(above, 2u);
  EXPECT_EQ(filtered, 1u);
  EXPECT_EQ(attached, 1u);
  EXPECT_TRUE(find_backend(gst_structure_get_string(stats, "backend")));
  EXPECT_STREQ(gst_structure_get_string(stats, "detector"), "yolo26");
}

TEST(Boxdecode, ResetsCountersAfterARestart) {
  Harness h("boxdecode");
  ASSERT_TRUE(h.run(frame_with(kTwo))) << h.error();
  const auto frames = [&] {
    g_autoptr(GstStructure) stats = nullptr;
    g_object_get(h.element(), "stats", &stats, nullptr);
    guint64 out = 99;
    gst_structure_get(stats, "frames", G_TYPE_UINT64, &out, nullptr);
    return out;
  };
  EXPECT_EQ(frames(), 1u);
  gst_element_set_state(h.element(), GST_STATE_READY);
  EXPECT_EQ(frames(), 1u) << "to be read when the stream is through";
  gst_element_set_state(h.element(), GST_STATE_PAUSED);
  EXPECT_EQ(frames(), 0u);
}

TEST(Boxdecode, RunsTheForcedBackend) {
  for (const Backend& backend : backends()) {
    if (backend.memory != MemorySpace::kSystem) continue;
    Harness h("boxdecode backend=" + std::string(backend.name));
    EXPECT_EQ(ods(h.run(frame_with(kTwo))).size(), 2u);
    g_autoptr(GstStructure) stats = nullptr;
    g_object_get(h.element(), "stats", &stats, nullptr);
    EXPECT_EQ(gst_structure_get_string(stats, "backend"), backend.name);
    EXPECT_NE(std::string(gst_structure_get_string(stats, "backend-reason")).find("backend="),
              std::string::npos);
  }
}

TEST(Boxdecode, SurvivesFlushAndEos) {
  Harness h("boxdecode");
  ASSERT_TRUE(h.run(frame_with(kTwo)));
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  const Buffer out = h.run(frame_with(kTwo));
  ASSERT_TRUE(out);
  EXPECT_EQ(ods(out).size(), 2u);
  EXPECT_TRUE(gst_harness_push_event(h.get(), gst_event_new_eos()));
}

TEST(Boxdecode, CyclesThroughStates) {
  GstElement* element = gst_element_factory_make("boxdecode", nullptr);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(gst_element_set_state(element, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
    EXPECT_EQ(gst_element_set_state(element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  }
  gst_object_unref(element);
}

/// The input of the model is not changed while it runs.
TEST(PropertyChanges, WarnsOfAFamilyWithAnotherInput) {
  Harness h("boxdecode detector=yolov5");
  const auto decoded = [&] {
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
    test::attach(frame, test::dense({.anchors = 300, .classes = 6, .rows = true}));
    return h.run(frame) != nullptr;
  };
  ASSERT_TRUE(decoded()) << h.error();
  h.set("detector", "yolov7");
  ASSERT_TRUE(decoded()) << h.error();
  EXPECT_EQ(h.warning(), "") << "the same input";
  h.set("detector", "yolox-decoded");
  ASSERT_TRUE(decoded()) << h.error();
  test::expect_words(h.warning(), {"detector=yolox-decoded is for models with another input",
                                   "channel-order=bgr", "than yolov7 (channel-order=rgb"});
}

}  // namespace
}  // namespace keepbox
