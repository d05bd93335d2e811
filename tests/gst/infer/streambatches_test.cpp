// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames, events and streams of batches in tensorinfer and boxdecode.
#include <memory>
#include <string>
#include <vector>

#include "gst/base/batches.h"
#include "tests/gst/infer/streamed.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::frames_of;
using test::Harness;
using test::kFullSize;
using test::kHalfSize;
using test::make_batch;
using test::Stream;
using test::StreamBatches;
using test::StreamPart;

/// Streams of a tee have one id.
TEST(BatchStreamStates, StayWithStreamsOfOneId) {
  BatchStreamStates<int> lanes;
  int made = 0;
  const auto follow = [&](const std::vector<std::string>& ids) {
    std::vector<BatchedStream> streams;
    for (const std::string& id : ids) streams.push_back({.id = id, .sticky = {}, .items = {}});
    std::vector<int> out;
    for (const int* lane : lanes.follow(streams, [&] { return std::make_unique<int>(made++); }))
      out.push_back(*lane);
    return out;
  };
  using Lanes = std::vector<int>;
  EXPECT_EQ(follow({"a", "a", "1", ""}), (Lanes{0, 1, 2, 3}));
  EXPECT_EQ(follow({"a", "a", "1", ""}), (Lanes{0, 1, 2, 3}));
  EXPECT_EQ(follow({"1", "a", "b"}), (Lanes{2, 0, 4}));
  EXPECT_EQ(follow({"1", "a", "a"}), (Lanes{2, 0, 5}));
}

TEST_F(StreamBatches, FramesHaveTheBoxesOfLinesOfTheirOwn) {
  for (const char* more : {"", "batch-size=4", "lookahead=2"}) {
    Harness h(detector(more), test::kBatchCaps);
    Stream large("large", kFullSize), half("half", kHalfSize);
    for (int batch = 0; batch < 2; ++batch) {
      std::vector<StreamPart> parts{large.part(), half.part()};
      for (int i = 3 * batch; i < 3 * batch + 3; ++i) {
        parts[0].add(frame(kFullSize, 0, i));
        parts[1].add(frame(kHalfSize, 1, i));
      }
      const Buffer out = h.run(make_batch(parts));
      ASSERT_TRUE(out) << h.error();
      ASSERT_EQ(frames_of(out, 0).size(), 3u);
      ASSERT_EQ(frames_of(out, 1).size(), 3u);
      for (int i = 0; i < 3; ++i) {
        expect_boxes(frames_of(out, 0)[size_t(i)], kFullSize, 0, 3 * batch + i);
        expect_boxes(frames_of(out, 1)[size_t(i)], kHalfSize, 1, 3 * batch + i);
      }
    }
    EXPECT_EQ(h.warning(), "") << more;
  }
}

TEST_F(StreamBatches, CapsMayNameTheStreams) {
  Harness h(detector(), test::kBatchCaps);
  Stream a("a", kFullSize), b("b", kHalfSize);
  for (int i = 0; i < 2; ++i) {
    gst_harness_set_src_caps(h.get(), test::batch_caps(i == 0 ? std::vector{kFullSize, kHalfSize}
                                                              : std::vector{kHalfSize}));
    const Buffer out = h.run(i == 0 ? make_batch({a.part(frame(kFullSize, 0, i)), b.part()})
                                    : make_batch({b.part(frame(kHalfSize, 1, i))}));
    ASSERT_TRUE(out) << h.error();
    expect_boxes(frames_of(out, 0)[0], i == 0 ? kFullSize : kHalfSize, i, i);
  }
}

TEST_F(StreamBatches, AreInTheCapsOfSinkPads) {
  for (const std::string& line :
       {infer(test::ultralytics_like({320, 320}), ""), std::string("boxdecode detector=yolov8")}) {
    Harness h(line, test::kBatchCaps);
    g_autoptr(GstCaps) batches = gst_caps_from_string(test::kBatchCaps);
    g_autoptr(GstCaps) frames = gst_caps_from_string("video/x-raw");
    g_autoptr(GstCaps) all = gst_pad_peer_query_caps(h.get()->srcpad, nullptr);
    EXPECT_TRUE(gst_caps_can_intersect(all, batches)) << line;
    g_autoptr(GstCaps) some = gst_pad_peer_query_caps(h.get()->srcpad, frames);
    EXPECT_FALSE(gst_caps_can_intersect(some, batches)) << line;
  }
}

TEST_F(StreamBatches, RunTogether) {
  Harness h(infer(test::ultralytics_like({320, 320}, true), "batch-size=4 batch-timeout=2000"),
            test::kBatchCaps);
  Stream a("a", kFullSize), b("b", kHalfSize);
  const auto push = [&](int number) {
    ASSERT_TRUE(
        h.run(make_batch({a.part(frame(kFullSize, 0, number), frame(kFullSize, 0, number + 1)),
                          b.part(frame(kHalfSize, 1, number), frame(kHalfSize, 1, number + 1))})));
  };
  push(0);
  const test::BatchesSince counts(h.element());
  for (int i = 1; i < 4; ++i) push(2 * i);
  EXPECT_EQ(counts.batches(), 3);
  EXPECT_EQ(counts.fill(), 4);
  EXPECT_EQ(test::counted(h.element(), "inferred"), 16u);
}

TEST_F(StreamBatches, EventsKeepTheirPlaces) {
  Harness h(detector(), test::kBatchCaps);
  Stream a("a", kFullSize), b("b", kHalfSize);
  GstEvent* custom = gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM,
                                          gst_structure_new_empty("application/x-note"));
  GstEvent* gap = gst_event_new_gap(GST_SECOND, GST_SECOND);
  GstEvent* caps = Stream::caps_event(kHalfSize);
  const Buffer out =
      h.run(make_batch({a.part(custom, frame(kFullSize, 0, 0), gap, caps, frame(kHalfSize, 0, 1)),
                        b.part(gst_event_new_eos())}));
  ASSERT_TRUE(out) << h.error();
  const auto all = test::objects_of(out);
  ASSERT_EQ(all.size(), 2u);
  ASSERT_EQ(all[0].size(), 5u);
  EXPECT_EQ(all[0][0], GST_MINI_OBJECT(custom));
  EXPECT_TRUE(GST_IS_BUFFER(all[0][1]));
  EXPECT_EQ(all[0][2], GST_MINI_OBJECT(gap));
  EXPECT_EQ(all[0][3], GST_MINI_OBJECT(caps));
  EXPECT_TRUE(GST_IS_BUFFER(all[0][4]));
  ASSERT_EQ(all[1].size(), 1u);
  EXPECT_EQ(GST_EVENT_TYPE(all[1][0]), GST_EVENT_EOS);
  expect_boxes(frames_of(out, 0)[0], kFullSize, 0, 0);
  expect_boxes(frames_of(out, 0)[1], kHalfSize, 0, 1);
}

TEST_F(StreamBatches, StreamsMayBeEmptyJoinAndLeave) {
  Harness h(detector(), test::kBatchCaps);
  Stream a("a", kFullSize), b("b", kHalfSize), c("c", kFullSize);
  Buffer out = h.run(make_batch({a.part(frame(kFullSize, 0, 0)), b.part()}));
  ASSERT_TRUE(out) << h.error();
  expect_boxes(frames_of(out, 0)[0], kFullSize, 0, 0);
  EXPECT_TRUE(frames_of(out, 1).empty());
  out = h.run(make_batch({b.part(frame(kHalfSize, 1, 0)), c.part(frame(kFullSize, 2, 0)), {}}));
  ASSERT_TRUE(out) << h.error();
  expect_boxes(frames_of(out, 0)[0], kHalfSize, 1, 0);
  expect_boxes(frames_of(out, 1)[0], kFullSize, 2, 0);
  out = h.run(make_batch({}));
  EXPECT_TRUE(out) << h.error();
  out = h.run(make_batch({a.part(frame(kFullSize, 0, 1))}));
  ASSERT_TRUE(out) << h.error();
  expect_boxes(frames_of(out, 0)[0], kFullSize, 0, 1);
}

TEST_F(StreamBatches, SharedFramesAreNotChanged) {
  Harness h(detector(), test::kBatchCaps);
  Stream a("a", kFullSize);
  const Buffer kept(frame(kFullSize, 0, 0));
  const Buffer listed(frame(kFullSize, 0, 1));
  GstBufferList* list = gst_buffer_list_new();
  gst_buffer_list_add(list, gst_buffer_ref(listed.get()));
  gst_buffer_list_add(list, frame(kFullSize, 0, 2));
  const Buffer batch(make_batch({a.part(gst_buffer_ref(kept.get()), list)}));
  const Buffer out = h.run(gst_buffer_ref(batch.get()));
  ASSERT_TRUE(out) << h.error();
  EXPECT_NE(out, batch);
  const auto frames = frames_of(out, 0);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_TRUE(GST_IS_BUFFER_LIST(test::objects_of(out)[0][1]));
  for (int i = 0; i < 3; ++i) expect_boxes(frames[size_t(i)], kFullSize, 0, i);
  for (const Buffer& each : frames_of(batch, 0))
    EXPECT_EQ(gst_buffer_get_analytics_relation_meta(each.get()), nullptr);
  EXPECT_TRUE(test::tensors_of(kept.get()).empty());
  EXPECT_TRUE(test::tensors_of(listed.get()).empty());
}

/// Frames are held back only within a batch.
TEST_F(StreamBatches, AddNoLatency) {
  Harness h(infer(test::ultralytics_like({320, 320}, true), "lookahead=2"), test::kBatchCaps);
  Stream a("a", kFullSize);
  ASSERT_TRUE(h.run(make_batch({a.part(frame(kFullSize, 0, 0))})));
  gst_harness_set_upstream_latency(h.get(), 5 * GST_MSECOND);
  EXPECT_EQ(gst_harness_query_latency(h.get()), 5 * GST_MSECOND);
}

}  // namespace
}  // namespace keepbox
