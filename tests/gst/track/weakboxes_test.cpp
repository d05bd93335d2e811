// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes below the score threshold: only boxtrack sees them, and only those of its objects appear.
#include "gst/metas/boxes.h"

#include "tests/gst/metas/parts.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::Harness;
using test::ods;

constexpr const char* kWeakCaps =
    "video/x-raw,format=RGB,width=640,height=640,framerate=25/1,pixel-aspect-ratio=1/1";
const std::string kDecoder = "boxdecode track-score-threshold=0.1 ";

/// Returns a frame with the tensor of an object at the same place each time, and of another one.
GstBuffer* frame(guint number, float score, float other = 0) {
  GstBuffer* out = gst_buffer_new_allocate(nullptr, 640 * 640 * 3, nullptr);
  GST_BUFFER_PTS(out) = number * GST_SECOND / 25;
  test::attach(out, test::rows({{100, 160, 300, 320, score, 5}, {400, 400, 500, 500, other, 2}}));
  return out;
}

/// Returns the scores of the boxes after a line, frame by frame.
std::vector<std::vector<float>> scores(const std::string& line, const std::vector<float>& in) {
  Harness h(line, kWeakCaps);
  std::vector<std::vector<float>> out;
  for (guint i = 0; i < in.size(); ++i) {
    const Buffer got = h.run(frame(i, in[i], 0.15f));
    EXPECT_TRUE(got) << h.error();
    out.emplace_back();
    for (const auto& od : ods(got)) out.back().push_back(od.score);
  }
  return out;
}

using Scores = std::vector<std::vector<float>>;

TEST(WeakBoxes, AppearIfTheyAreOfATrack) {
  const std::vector<float> in{0.9f, 0.2f, 0.9f};
  EXPECT_EQ(scores(kDecoder + "! boxtrack", in), (Scores{{0.9f}, {0.2f}, {0.9f}}));
  EXPECT_EQ(scores(kDecoder, in), (Scores{{0.9f}, {}, {0.9f}}));
  EXPECT_EQ(scores("boxdecode ! boxtrack", in), (Scores{{0.9f}, {}, {0.9f}}));
  EXPECT_EQ(scores(kDecoder + "! boxtrack method=oc-sort", in), (Scores{{0.9f}, {}, {0.9f}}));
}

TEST(WeakBoxes, AppearOnce) {
  EXPECT_EQ(scores(kDecoder + "! boxtrack ! boxtrack", {0.9f, 0.2f}), (Scores{{0.9f}, {0.2f}}));
}

TEST(WeakBoxes, HaveAnIdAndFloats) {
  Harness h(kDecoder + "! boxtrack", kWeakCaps);
  h.run(frame(0, 0.9f));
  const auto found = boxes(h.run(frame(1, 0.2f)));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].tracking_id, 1u);
  EXPECT_EQ(found[0].class_id, 5u);
  EXPECT_EQ(found[0].box, (Box{100, 160, 300, 320}));
}

TEST(WeakBoxes, AppearNextToStrongOnes) {
  Harness h(kDecoder + "! boxtrack", kWeakCaps);
  h.run(frame(0, 0.9f, 0.8f));
  const auto found = boxes(h.run(frame(1, 0.2f, 0.8f)));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].box, (Box{400, 400, 500, 500}));
  EXPECT_EQ(found[0].tracking_id, 2u);
  EXPECT_EQ(found[1].box, (Box{100, 160, 300, 320}));
  EXPECT_EQ(found[1].tracking_id, 1u);
}

TEST(WeakBoxes, AreCountedAsRecovered) {
  Harness h("boxtrack", kWeakCaps);
  for (guint i = 0; i < 3; ++i) {
    Buffer in(gst_buffer_new_allocate(nullptr, 64, nullptr));
    GST_BUFFER_PTS(in.get()) = i * GST_SECOND / 25;
    FrameBox list[] = {test::plain_box({100, 160, 300, 320}, i == 0 ? 0.9f : 0.2f)};
    attach_boxes(in.get(), i == 0 ? list : std::span<FrameBox>(), {});
    if (i > 0) attach_weak_boxes(in.get(), list);
    h.run(in.release());
  }
  EXPECT_EQ(test::counted(h.element(), "recovered-boxes"), 2u);
  EXPECT_EQ(test::counted(h.element(), "tracked-boxes"), 3u);
}

TEST(WeakBoxes, FollowTheThresholdOfTheirClass) {
  const std::string strict = kDecoder + "class-thresholds=5:0.8 ";
  EXPECT_EQ(scores(strict, {0.9f, 0.7f}), (Scores{{0.9f}, {}}));
  EXPECT_EQ(scores(strict + "! boxtrack", {0.9f, 0.7f}), (Scores{{0.9f}, {0.7f}}));
}

TEST(WeakBoxes, AreScaledWithTheFrame) {
  Harness h(
      kDecoder + "! videoscale add-borders=false ! video/x-raw,width=320,height=160 ! boxtrack",
      kWeakCaps);
  h.run(frame(0, 0.9f));
  const auto found = boxes(h.run(frame(1, 0.2f)));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].tracking_id, 1u);
  EXPECT_EQ(found[0].box, (Box{50, 40, 150, 80}));
}

/// Attaches a box, a weak one on frames with an odd time.
void add_weak_or_strong(GstElement*, GstBuffer* buffer, gpointer) {
  const bool weak = GST_BUFFER_PTS(buffer) % 2 != 0;
  const Keypoint points[] = {{60, 90, 0.9f}};
  FrameBox list[] = {test::plain_box({50, 80, 150, 160}, weak ? 0.2f : 0.9f)};
  list[0].keypoints = {points, {}, g_quark_from_string("one")};
  attach_boxes(buffer, weak ? std::span<FrameBox>() : list, {});
  if (weak) attach_weak_boxes(buffer, list);
}

TEST(WeakBoxes, GoThroughFramerestore) {
  Harness h(
      "framesave ! videoscale ! video/x-raw,width=320,height=320 "
      "! identity name=mid signal-handoffs=true ! framerestore ! boxtrack",
      kWeakCaps);
  GstElement* mid = gst_bin_get_by_name(h.bin(), "mid");
  g_signal_connect(mid, "handoff", G_CALLBACK(add_weak_or_strong), nullptr);
  gst_object_unref(mid);
  for (guint i = 0; i < 2; ++i) {
    GstBuffer* in = gst_buffer_new_allocate(nullptr, 640 * 640 * 3, nullptr);
    GST_BUFFER_PTS(in) = i * 40'000'001;
    const Buffer out = h.run(in);
    ASSERT_TRUE(out) << h.error();
    const auto found = boxes(out);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].tracking_id, 1u);
    EXPECT_EQ(found[0].score, i == 0 ? 0.9f : 0.2f);
    EXPECT_EQ(found[0].box, (Box{100, 160, 300, 320}));
    ASSERT_EQ(found[0].keypoints.points.size(), 1u);
    EXPECT_EQ(found[0].keypoints.points[0].x, 120);
  }
}

TEST(WeakBoxes, CarryKeypoints) {
  Harness h("boxtrack", kWeakCaps);
  const Keypoint points[] = {{110, 170, 0.9f}, {120, 180, 0.8f}};
  const auto run = [&](guint number, bool weak) {
    Buffer in(gst_buffer_new_allocate(nullptr, 64, nullptr));
    GST_BUFFER_PTS(in.get()) = number * GST_SECOND / 25;
    FrameBox list[] = {test::plain_box({100, 160, 300, 320}, weak ? 0.2f : 0.9f)};
    list[0].keypoints = {points, {}, g_quark_from_string("two")};
    attach_boxes(in.get(), weak ? std::span<FrameBox>() : list, {});
    if (weak) attach_weak_boxes(in.get(), list);
    return h.run(in.release());
  };
  run(0, false);
  const Buffer out = run(1, true);
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].keypoints.points.size(), 2u);
  EXPECT_EQ(found[0].keypoints.points[1].x, 120);
}

TEST(WeakBoxes, OfSeveralDecodersAreKeptApart) {
  Buffer in(gst_buffer_new_allocate(nullptr, 64, nullptr));
  attach_boxes(in.get(), {}, {});
  for (const char* model : {"one", "two"}) {
    FrameBox list[] = {test::plain_box({1, 2, 3, 4}, 0.2f), test::plain_box({5, 6, 7, 8}, 0.1f)};
    for (FrameBox& box : list) box.model = g_quark_from_string(model);
    attach_weak_boxes(in.get(), list);
  }
  const auto found = read_weak_boxes(in.get());
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[1].model, g_quark_from_string("one"));
  EXPECT_EQ(found[3].model, g_quark_from_string("two"));
  EXPECT_EQ(found[3].box, (Box{5, 6, 7, 8}));
}

TEST(WeakBoxes, AreCounted) {
  Harness h(kDecoder, kWeakCaps);
  h.run(frame(0, 0.2f));
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(h.element(), "stats", &stats, nullptr);
  guint weak = 0, attached = 9;
  gst_structure_get_uint(stats, "for-tracker", &weak);
  gst_structure_get_uint(stats, "attached", &attached);
  EXPECT_EQ(weak, 1u);
  EXPECT_EQ(attached, 0u);
  gst_harness_push_event(h.get(), gst_event_new_eos());
  test::expect_words(h.warning(), {"between track-score-threshold and score-threshold"});
}

}  // namespace
}  // namespace keepbox
