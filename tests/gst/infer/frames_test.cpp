// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames that pass tensorinfer: unchanged, skipped, or with caps changed in mid-stream.
#include <cstring>

#include "gst/metas/boxes.h"
#include "tests/gst/infer/infer.h"
#include "tests/gst/infer/shaded.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::has_box;
using test::InferFrames;
using test::kSmallFrame;
using test::painted;
using test::patches;
using test::raw;
using test::Rect;
using test::shade_of;
using test::shaded;
using test::tensors_of;

/// Adds everything that a frame should keep.
void adorn(GstBuffer* frame) {
  GST_BUFFER_PTS(frame) = 40 * GST_MSECOND;
  GST_BUFFER_DTS(frame) = 30 * GST_MSECOND;
  GST_BUFFER_DURATION(frame) = 33 * GST_MSECOND;
  GST_BUFFER_OFFSET(frame) = 7;
  GST_BUFFER_OFFSET_END(frame) = 8;
  GST_BUFFER_FLAG_SET(frame, GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_MARKER);
  g_autoptr(GstCaps) reference = gst_caps_new_empty_simple("timestamp/x-unix");
  gst_buffer_add_reference_timestamp_meta(frame, reference, 1234, GST_CLOCK_TIME_NONE);
  gst_buffer_add_video_region_of_interest_meta(frame, "mark", 1, 2, 3, 4);
}

void expect_adorned(GstBuffer* frame) {
  EXPECT_EQ(GST_BUFFER_PTS(frame), 40 * GST_MSECOND);
  EXPECT_EQ(GST_BUFFER_DTS(frame), 30 * GST_MSECOND);
  EXPECT_EQ(GST_BUFFER_DURATION(frame), 33 * GST_MSECOND);
  EXPECT_EQ(GST_BUFFER_OFFSET(frame), 7u);
  EXPECT_EQ(GST_BUFFER_OFFSET_END(frame), 8u);
  EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(frame, GST_BUFFER_FLAG_DISCONT));
  EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(frame, GST_BUFFER_FLAG_MARKER));
  EXPECT_NE(gst_buffer_get_reference_timestamp_meta(frame, nullptr), nullptr);
  EXPECT_NE(gst_buffer_get_video_region_of_interest_meta_id(frame, 0), nullptr);
}

std::vector<guint8> bytes_of(GstBuffer* frame) {
  std::vector<guint8> out(gst_buffer_get_size(frame));
  gst_buffer_extract(frame, 0, out.data(), out.size());
  return out;
}

TEST_F(InferFrames, PassUntouchedInTheirOwnMemory) {
  Harness h(identity(), kSmallFrame);
  GstBuffer* frame = painted(kSmallFrame, test::noise);
  adorn(frame);
  const auto before = bytes_of(frame);
  const GstMemory* memory = gst_buffer_peek_memory(frame, 0);
  const Buffer out = h.run(frame);
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(out.get(), frame) << "the same buffer, for nobody else holds it";
  EXPECT_EQ(gst_buffer_peek_memory(out.get(), 0), memory);
  EXPECT_EQ(bytes_of(out.get()), before);
  expect_adorned(out.get());
  EXPECT_EQ(tensors_of(out.get()).size(), 1u);
  g_autoptr(GstCaps) expected = gst_caps_from_string(kSmallFrame.c_str());
  g_autoptr(GstCaps) caps = gst_pad_get_current_caps(h.get()->sinkpad);
  EXPECT_TRUE(gst_caps_is_subset(caps, expected)) << gst_caps_to_string(caps);
}

TEST_F(InferFrames, SharedFramesAreNotChanged) {
  Harness h(identity(), kSmallFrame);
  GstBuffer* frame = painted(kSmallFrame, test::noise);
  adorn(frame);
  const Buffer held(gst_buffer_ref(frame));
  const GstMemory* memory = gst_buffer_peek_memory(frame, 0);
  const Buffer out = h.run(frame);
  ASSERT_TRUE(out) << h.error();
  EXPECT_TRUE(tensors_of(held.get()).empty());
  EXPECT_EQ(tensors_of(out.get()).size(), 1u);
  EXPECT_EQ(gst_buffer_peek_memory(out.get(), 0), memory) << "pixels are shared, not copied";
  expect_adorned(out.get());
}

TEST_F(InferFrames, KeepEarlierTensors) {
  Harness h(identity(), kSmallFrame);
  GstBuffer* frame = shaded(9);
  test::attach(frame, test::rows({{1, 2, 3, 4, 0.5f, 0}}));
  const Buffer out = h.run(frame);
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(tensors_of(out.get()).size(), 2u);
}

TEST_F(InferFrames, MayChangeTheirCaps) {
  Harness h(infer(test::ultralytics_like({320, 320})) + " ! boxdecode", raw("RGB", 640, 360));
  struct Change {
    const char* format;
    int width, height;
  };
  for (const Change& to : {Change{"RGB", 640, 360},
                           {"BGRx", 333, 517},
                           {"RGB", 200, 200},
                           {"BGR", 640, 360},
                           {"RGB", 640, 360}}) {
    const std::string caps = raw(to.format, to.width, to.height);
    h.set_caps(caps);
    const Rect red{to.width / 4, to.height / 3, to.width * 3 / 4, to.height * 3 / 4};
    for (int i = 0; i < 2; ++i) {
      const Buffer out = h.run(painted(caps, patches(red)));
      ASSERT_TRUE(out) << caps << h.error();
      EXPECT_TRUE(has_box(out, "disc", red)) << caps;
    }
  }
}

TEST_F(InferFrames, ContinueAfterAFlush) {
  Harness h(identity("interval=2 hold=true"), kSmallFrame);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(h.run(shaded(100 + i))) << h.error();
    EXPECT_TRUE(gst_harness_push_event(h.get(), gst_event_new_flush_start()));
    EXPECT_TRUE(gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE)));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    EXPECT_TRUE(gst_harness_push_event(h.get(), gst_event_new_segment(&segment)));
    const Buffer out = h.run(shaded(30 + round));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(shade_of(out), static_cast<float>(30 + round)) << "nothing from before the flush";
    h.run(shaded(0));  // the interval's other frame
  }
}

TEST_F(InferFrames, RestartWithASegment) {
  Harness h(identity("interval=3 hold=true"), kSmallFrame);
  for (int round = 0; round < 3; ++round) {
    const Buffer first = h.run(shaded(30 + round));
    ASSERT_TRUE(first) << h.error();
    EXPECT_EQ(shade_of(first), static_cast<float>(30 + round)) << "nothing from another segment";
    EXPECT_EQ(shade_of(h.run(shaded(100))), static_cast<float>(30 + round));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    segment.start = segment.time = static_cast<guint64>(round + 1) * GST_SECOND;
    EXPECT_TRUE(gst_harness_push_event(h.get(), gst_event_new_segment(&segment)));
  }
}

TEST_F(InferFrames, PassGapsAndEos) {
  Harness h(identity(), kSmallFrame);
  ASSERT_TRUE(h.run(shaded(1)));
  EXPECT_TRUE(gst_harness_push_event(h.get(), gst_event_new_gap(GST_SECOND, GST_SECOND)));
  ASSERT_TRUE(h.run(shaded(2)));
  EXPECT_TRUE(gst_harness_push_event(h.get(), gst_event_new_eos()));
  bool gap = false, eos = false;
  while (GstEvent* event = gst_harness_try_pull_event(h.get())) {
    gap = gap || GST_EVENT_TYPE(event) == GST_EVENT_GAP;
    eos = eos || GST_EVENT_TYPE(event) == GST_EVENT_EOS;
    gst_event_unref(event);
  }
  EXPECT_TRUE(gap);
  EXPECT_TRUE(eos);
  EXPECT_EQ(h.error(), "");
}

/// Cameras store photos in sensor orientation; displays rotate them by a tag, which models do not
/// see.
TEST_F(InferFrames, OrientationTagIsAWarning) {
  const auto warning_of = [&](Harness& h, const char* orientation) {
    g_autofree gchar* id = g_strdup_printf("stream of %s", orientation);
    gst_harness_push_event(h.get(), gst_event_new_stream_start(id));
    h.set_caps(kSmallFrame);
    for (int i = 0; i < 2; ++i)
      EXPECT_TRUE(gst_harness_push_event(
          h.get(), gst_event_new_tag(gst_tag_list_new(GST_TAG_IMAGE_ORIENTATION, orientation,
                                                      GST_TAG_TITLE, "a photo", nullptr))));
    EXPECT_TRUE(h.run(shaded(1))) << h.error();
    const std::string first = h.warning();
    EXPECT_EQ(h.warning(), "") << "once a stream";
    return first;
  };
  Harness h(identity(), kSmallFrame);
  EXPECT_EQ(warning_of(h, "rotate-0"), "");
  test::expect_words(warning_of(h, "rotate-90"),
                     {"image-orientation", "rotate-90", "videoflip video-direction=auto"});
  EXPECT_NE(warning_of(h, "flip-rotate-180"), "") << "another stream";
  EXPECT_EQ(warning_of(h, "rotate-0"), "");
  Harness oriented("videoflip video-direction=auto ! " + identity(), kSmallFrame);
  EXPECT_EQ(warning_of(oriented, "rotate-180"), "");
}

/// A picture in a GAP buffer is inferred; a buffer without one passes.
TEST_F(InferFrames, GapsWithAPictureAreInferred) {
  Harness h(identity() + " ! boxdecode on-mismatch=error", kSmallFrame);
  GstBuffer* filled = shaded(3);
  GST_BUFFER_FLAG_SET(filled, GST_BUFFER_FLAG_GAP);
  Harness alone(identity(), kSmallFrame);
  const Buffer out = alone.run(filled);
  ASSERT_TRUE(out);
  EXPECT_EQ(tensors_of(out.get()).size(), 1u);
  GstBuffer* empty = gst_buffer_new();
  GST_BUFFER_FLAG_SET(empty, GST_BUFFER_FLAG_GAP);
  EXPECT_TRUE(h.run(empty));
  EXPECT_EQ(h.error(), "");
}

}  // namespace
}  // namespace keepbox
