// SPDX-License-Identifier: LGPL-2.1-or-later
// Streams and frames of batches that cannot be run, flushes, properties, errors, and runs of
// boxdecode.
#include "tests/gst/infer/streamed.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::expect_words;
using test::frames_of;
using test::Harness;
using test::kDeep;
using test::kFullSize;
using test::kHalfSize;
using test::make_batch;
using test::plain_boxes;
using test::Stream;
using test::StreamBatches;
using test::StreamPart;

TEST_F(StreamBatches, OtherStreamsPassWithAWarning) {
  Harness h(detector("name=infer"), test::kBatchCaps);
  Stream deep("deep", kDeep), half("half", kHalfSize), sound("sound", "audio/x-raw,format=S16LE");
  for (int i = 0; i < 2; ++i) {
    const Buffer out =
        h.run(make_batch({deep.part(gst_buffer_new_allocate(nullptr, 64, nullptr)),
                          half.part(frame(kHalfSize, 0, i)),
                          sound.part(gst_buffer_new_allocate(nullptr, 64, nullptr))}));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(frames_of(out, 0).size(), 1u);
    EXPECT_EQ(frames_of(out, 2).size(), 1u);
    expect_boxes(frames_of(out, 1)[0], kHalfSize, 0, i);
  }
  expect_words(h.warning(), {"GRAY16_LE", "passes without inference", "videoconvert"});
  expect_words(h.warning(), {"audio/x-raw", "passes without inference"});
  EXPECT_EQ(h.warning(), "");
  g_autoptr(GstElement) infer = gst_bin_get_by_name(h.bin(), "infer");
  EXPECT_EQ(test::counted(infer, "inferred"), 2u);
  EXPECT_EQ(test::counted(infer, "skipped"), 4u);
  for (const std::string& caps : {kHalfSize, std::string(test::kBatchCaps)}) h.set_caps(caps);
  h.run(make_batch({sound.part(gst_buffer_new_allocate(nullptr, 64, nullptr))}));
  expect_words(h.warning(), {"audio/x-raw", "passes without inference"});
}

TEST_F(StreamBatches, EndWithAModelThatFails) {
  Harness h(infer(test::huge_model()), test::kBatchCaps);
  Stream a("a", kFullSize);
  EXPECT_FALSE(h.run(make_batch({a.part(frame(kFullSize, 0, 0))})));
  EXPECT_EQ(h.flow, GST_FLOW_ERROR);
  expect_words(h.error(), {"model.onnx"});
}

TEST_F(StreamBatches, WarnOfRotatedPictures) {
  Harness h(infer(test::ultralytics_like({320, 320}, true)), test::kBatchCaps);
  Stream a("a", kFullSize);
  const auto turned = [] {
    return gst_event_new_tag(gst_tag_list_new(GST_TAG_IMAGE_ORIENTATION, "rotate-90", nullptr));
  };
  ASSERT_TRUE(h.run(
      make_batch({a.part(turned(), frame(kFullSize, 0, 0), turned(), frame(kFullSize, 0, 1))})));
  expect_words(h.warning(), {"rotate-90", "videoflip"});
  EXPECT_EQ(h.warning(), "");
}

TEST_F(StreamBatches, IntervalsBeginAgainWithASegment) {
  Harness h(infer(test::ultralytics_like({320, 320}, true), "interval=3"), test::kBatchCaps);
  Stream a("a", kFullSize);
  GstSegment later;
  gst_segment_init(&later, GST_FORMAT_TIME);
  later.start = GST_SECOND;
  const Buffer out =
      h.run(make_batch({a.part(frame(kFullSize, 0, 0), frame(kFullSize, 0, 1),
                               gst_event_new_segment(&later), frame(kFullSize, 0, 40))}));
  ASSERT_TRUE(out) << h.error();
  std::vector<size_t> counts;
  for (const Buffer& each : frames_of(out, 0))
    counts.push_back(test::tensors_of(each.get()).size());
  EXPECT_EQ(counts, (std::vector<size_t>{1, 0, 1}));
}

TEST_F(StreamBatches, AFrameWithoutDataDoesNotStopTheOthers) {
  Harness h(detector(), test::kBatchCaps);
  Stream a("a", kFullSize), b("b", kHalfSize);
  const Buffer out = h.run(
      make_batch({a.part(frame(kFullSize, 0, 0), gst_buffer_new_allocate(nullptr, 64, nullptr),
                         frame(kFullSize, 0, 2)),
                  b.part(frame(kHalfSize, 1, 0))}));
  ASSERT_TRUE(out) << h.error();
  ASSERT_EQ(frames_of(out, 0).size(), 3u);
  expect_boxes(frames_of(out, 0)[0], kFullSize, 0, 0);
  EXPECT_TRUE(plain_boxes(frames_of(out, 0)[1]).empty());
  expect_boxes(frames_of(out, 0)[2], kFullSize, 0, 2);
  expect_boxes(frames_of(out, 1)[0], kHalfSize, 1, 0);
  expect_words(h.warning(), {"cannot be mapped"});
  EXPECT_EQ(h.warning(), "");
}

TEST_F(StreamBatches, IntervalsAreOfEachStream) {
  Harness h(infer(test::ultralytics_like({320, 320}, true), "interval=2"), test::kBatchCaps);
  Stream a("a", kFullSize), b("b", kHalfSize);
  const Buffer out = h.run(
      make_batch({a.part(frame(kFullSize, 0, 0), frame(kFullSize, 0, 1), frame(kFullSize, 0, 2)),
                  b.part(frame(kHalfSize, 1, 0), frame(kHalfSize, 1, 1))}));
  ASSERT_TRUE(out) << h.error();
  const auto count = [&](size_t stream, size_t number) {
    return test::tensors_of(frames_of(out, stream)[number].get()).size();
  };
  EXPECT_EQ(count(0, 0), 1u);
  EXPECT_EQ(count(0, 1), 0u);
  EXPECT_EQ(count(0, 2), 1u);
  EXPECT_EQ(count(1, 0), 1u);
  EXPECT_EQ(count(1, 1), 0u);
  EXPECT_EQ(test::counted(h.element(), "skipped"), 2u);
}

TEST_F(StreamBatches, GoOnAfterAFlush) {
  Harness h(detector(), test::kBatchCaps);
  Stream a("a", kFullSize), b("b", kHalfSize);
  ASSERT_TRUE(h.run(make_batch({a.part(frame(kFullSize, 0, 0)), b.part(frame(kHalfSize, 1, 0))})));
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  const Buffer out =
      h.run(make_batch({a.part(frame(kFullSize, 0, 1)), b.part(frame(kHalfSize, 1, 1))}));
  ASSERT_TRUE(out) << h.error();
  expect_boxes(frames_of(out, 0)[0], kFullSize, 0, 1);
  expect_boxes(frames_of(out, 1)[0], kHalfSize, 1, 1);
}

/// A batch that is not full waits for the timeout, which a flush ends.
TEST_F(StreamBatches, GoOnAfterAFlushDuringABatch) {
  Harness h(infer(test::ultralytics_like({320, 320}, true), "batch-size=4 batch-timeout=10000"),
            test::kBatchCaps);
  Stream a("a", kFullSize), b("b", kHalfSize);
  const auto batch = [&](bool full) {
    StreamPart second = b.part(frame(kHalfSize, 1, 0));
    if (full) second.add(frame(kHalfSize, 1, 1));
    return make_batch({a.part(frame(kFullSize, 0, 0), frame(kFullSize, 0, 1)), second});
  };
  ASSERT_TRUE(h.run(batch(true)));
  const gint64 start = g_get_monotonic_time();
  std::jthread flush([&] {
    g_usleep(G_USEC_PER_SEC / 5);
    gst_harness_push_event(h.get(), gst_event_new_flush_start());
  });
  EXPECT_EQ(gst_harness_push(h.get(), batch(false)), GST_FLOW_FLUSHING);
  flush.join();
  EXPECT_LT(g_get_monotonic_time() - start, 8 * G_USEC_PER_SEC);
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  const Buffer out = h.run(batch(true));
  ASSERT_TRUE(out) << h.error();
  for (size_t stream : {0, 1})
    for (const Buffer& each : frames_of(out, stream))
      EXPECT_EQ(test::tensors_of(each.get()).size(), 1u);
}

/// Returns a frame with a crowd of boxes.
GstBuffer* crowded(unsigned seed) {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
  test::attach(frame, test::crowd(seed));
  return frame;
}

TEST_F(StreamBatches, AreDecodedInOneRun) {
  Harness h("boxdecode model-size=320x320", test::kBatchCaps);
  Stream a("a", test::kSmall), b("b", kFullSize), c("c", kHalfSize);
  const std::string caps[] = {test::kSmall, kFullSize, kHalfSize};
  for (unsigned batch = 0; batch < 3; ++batch) {
    const guint64 before = test::counted(h.element(), "runs");
    const auto seed = [&](unsigned stream, unsigned number) {
      return 10 * batch + 3 * number + stream;
    };
    const Buffer out = h.run(
        make_batch({a.part(crowded(seed(0, 0)), crowded(seed(0, 1))), b.part(crowded(seed(1, 0))),
                    c.part(crowded(seed(2, 0)), crowded(seed(2, 1)))}));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(test::counted(h.element(), "runs") - before, batch == 0 ? 5u : 1u);
    for (unsigned stream = 0; stream < 3; ++stream)
      for (unsigned i = 0; i < frames_of(out, stream).size(); ++i) {
        Harness alone("boxdecode model-size=320x320", caps[stream]);
        const auto boxes = plain_boxes(alone.run(crowded(seed(stream, i))));
        EXPECT_FALSE(boxes.empty());
        EXPECT_EQ(plain_boxes(frames_of(out, stream)[i]), boxes) << stream << " " << i;
      }
  }
  EXPECT_EQ(test::counted(h.element(), "frames"), 15u);
}

TEST_F(StreamBatches, OneFrameWithoutTensorsIsAlone) {
  Harness h("boxdecode on-mismatch=warn model-size=320x320", test::kBatchCaps);
  Stream a("a", test::kSmall), b("b", kFullSize), c("c", kHalfSize);
  const auto push = [&](GstBuffer* second) {
    return h.run(make_batch({a.part(crowded(1)), b.part(second), c.part(crowded(2))}));
  };
  ASSERT_TRUE(push(crowded(3)));
  const guint64 before = test::counted(h.element(), "runs");
  const Buffer out = push(gst_buffer_new_allocate(nullptr, 64, nullptr));
  ASSERT_TRUE(out) << h.error();
  EXPECT_FALSE(plain_boxes(frames_of(out, 0)[0]).empty());
  EXPECT_TRUE(plain_boxes(frames_of(out, 1)[0]).empty());
  EXPECT_FALSE(plain_boxes(frames_of(out, 2)[0]).empty());
  EXPECT_EQ(test::counted(h.element(), "runs") - before, 1u);
  EXPECT_EQ(test::counted(h.element(), "mismatches"), 1u);
  EXPECT_NE(h.warning(), "");
  EXPECT_EQ(h.warning(), "");
}

TEST_F(StreamBatches, FramesBeforeNewCapsAreDecodedForTheOldOnes) {
  Harness h("boxdecode model-size=320x320", test::kBatchCaps);
  Stream a("a", test::kSmall), b("b", kFullSize);
  ASSERT_TRUE(h.run(make_batch({a.part(crowded(1)), b.part(crowded(2))})));
  const Buffer out = h.run(make_batch(
      {a.part(crowded(3), Stream::caps_event(kHalfSize), crowded(3)), b.part(crowded(4))}));
  ASSERT_TRUE(out) << h.error();
  const std::string caps[] = {test::kSmall, kHalfSize};
  for (size_t i = 0; i < 2; ++i) {
    Harness alone("boxdecode model-size=320x320", caps[i]);
    EXPECT_EQ(plain_boxes(frames_of(out, 0)[i]), plain_boxes(alone.run(crowded(3)))) << i;
  }
}

TEST_F(StreamBatches, PropertiesAreOfAllStreams) {
  Harness h("boxdecode", test::kBatchCaps);
  const std::string caps = test::kSmall;
  Stream a("a", caps), b("b", caps);
  const auto count = [&](size_t stream) {
    StreamPart parts[] = {a.part(), b.part()};
    for (StreamPart& part : parts) part.add(crowded(3));
    const Buffer out = h.run(make_batch({parts[0], parts[1]}));
    return out ? plain_boxes(frames_of(out, stream)[0]).size() : 0;
  };
  EXPECT_GT(count(0), 0u);
  EXPECT_EQ(count(1), count(0));
  h.set("score-threshold", 1.0);
  EXPECT_EQ(count(0), 0u);
  EXPECT_EQ(count(1), 0u);
  EXPECT_EQ(test::counted(h.element(), "frames"), 10u);
}

TEST_F(StreamBatches, WarnOncePerElement) {
  Harness h(infer(test::identity_model({1, 3, 48, 64})), test::kBatchCaps);
  Stream a("a", kFullSize), b("b", kHalfSize);
  ASSERT_TRUE(h.run(make_batch({a.part(frame(kFullSize, 0, 0)), b.part(frame(kHalfSize, 1, 0))})));
  expect_words(h.warning(), {"Nothing defines the input"});
  EXPECT_EQ(h.warning(), "");
  StreamPart bare;
  bare.add(frame(kFullSize, 0, 0));
  ASSERT_TRUE(h.run(make_batch({bare})));
  expect_words(h.warning(), {"precede its caps"});
}

TEST_F(StreamBatches, SingleStreamsFollowBatchesInTheSameLine) {
  Harness h(detector(), test::kBatchCaps);
  Stream a("a", kFullSize), b("b", kHalfSize);
  ASSERT_TRUE(h.run(make_batch({a.part(frame(kFullSize, 0, 0)), b.part(frame(kHalfSize, 1, 0))})));
  h.set_caps(kHalfSize);
  expect_boxes(h.run(frame(kHalfSize, 2, 3)), kHalfSize, 2, 3);
  h.set_caps(test::kBatchCaps);
  const Buffer out = h.run(make_batch({a.part(frame(kFullSize, 0, 1))}));
  ASSERT_TRUE(out) << h.error();
  expect_boxes(frames_of(out, 0)[0], kFullSize, 0, 1);
}

TEST_F(StreamBatches, BuffersThatAreNoneAreAnError) {
  for (const std::string& line :
       {infer(test::ultralytics_like({320, 320})), std::string("boxdecode")}) {
    Harness h(line, test::kBatchCaps);
    EXPECT_FALSE(h.run(gst_buffer_new()));
    EXPECT_EQ(h.flow, GST_FLOW_ERROR);
    expect_words(h.error(), {"no GstAnalyticsBatchMeta", "analyticscombiner"});
  }
}

TEST_F(StreamBatches, ElementsThatTakeNoneAreNamed) {
  for (const std::string& line : {detector(), std::string("boxdecode")}) {
    Harness h(line + " ! boxtrack name=track", test::kBatchCaps);
    EXPECT_FALSE(h.run(make_batch({})));
    expect_words(h.error(), {"track does not accept batches", "analyticssplitter"});
  }
}

}  // namespace
}  // namespace keepbox
