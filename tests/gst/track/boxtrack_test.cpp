// SPDX-License-Identifier: LGPL-2.1-or-later
// boxtrack as an element: ids on frames, time, events, several models, frames without inference.
#include <gst/analytics/analytics.h>

#include <array>
#include <functional>

#include "gst/tensors/decodednote.h"
#include "tests/gst/metas/parts.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::Harness;
using test::plain_box;

constexpr const char* kCaps =
    "video/x-raw,format=RGB,width=640,height=480,framerate=25/1,pixel-aspect-ratio=1/1";
constexpr GstClockTime kStep = GST_SECOND / 25;
constexpr float kSpeed = 4;  // pixels per frame

using IdList = std::vector<guint64>;

/// Returns the ids of boxes; 0 for none.
IdList ids(const std::vector<FrameBox>& list) {
  IdList out;
  for (const FrameBox& box : list) out.push_back(box.tracking_id.value_or(0));
  return out;
}

FrameBox at(float x, float y = 100, float score = 0.9f) {
  return plain_box({x, y, x + 60, y + 120}, score);
}

FrameBox of(FrameBox box, const char* model) {
  box.model = g_quark_from_string(model);
  return box;
}

/// boxtrack, with frames of boxes.
struct Track : Harness {
  explicit Track(const std::string& props = "", const char* caps = kCaps)
      : Harness("boxtrack " + props, caps) {}

  Buffer frame(guint number) const {
    Buffer out = test::empty_frame();
    GST_BUFFER_PTS(out.get()) = number * kStep;
    return out;
  }
  /// Runs a frame on which the model found these.
  Buffer see(guint number, std::vector<FrameBox> list) {
    Buffer in = frame(number);
    attach_boxes(in.get(), list, {.frame = {640, 480}});
    return run(in.release());
  }
  /// Runs a frame that the model left out.
  Buffer skip(guint number) {
    Buffer in = frame(number);
    note_skipped(in.get());
    attach_boxes(in.get(), {}, {.frame = {640, 480}});
    return run(in.release());
  }
  /// Runs frames with a box that moves. @return the last one.
  Buffer walk(guint from, guint to) {
    Buffer out;
    for (guint i = from; i < to; ++i) out = see(i, {at(kSpeed * static_cast<float>(i))});
    return out;
  }
  guint64 id_of(const Buffer& buffer) const { return ids(boxes(buffer)).at(0); }
};

TEST(Boxtrack, FollowsABox) {
  Track h;
  for (guint i = 0; i < 20; ++i)
    EXPECT_EQ(ids(boxes(h.see(i, {at(300), at(kSpeed * static_cast<float>(i))}))), (IdList{1, 2}));
}

TEST(Boxtrack, WritesWhatOthersRead) {
  Track h;
  h.walk(3, 10);
  const Buffer out = h.walk(10, 11);
  auto* meta = gst_buffer_get_analytics_relation_meta(out.get());
  const auto tracks =
      test::related<GstAnalyticsTrackingMtd>(meta, 0, gst_analytics_tracking_mtd_get_mtd_type());
  ASSERT_EQ(tracks.size(), 1u);
  guint64 id = 0;
  GstClockTime first = 0, last = 0;
  gboolean lost = TRUE;
  GstAnalyticsTrackingMtd track = tracks[0];
  EXPECT_TRUE(gst_analytics_tracking_mtd_get_info(&track, &id, &first, &last, &lost));
  EXPECT_EQ(id, 1u);
  EXPECT_EQ(first, 3 * kStep);
  EXPECT_EQ(last, 10 * kStep);
  EXPECT_FALSE(lost);
  EXPECT_EQ(gst_analytics_relation_meta_get_relation(meta, 0, track.id),
            GST_ANALYTICS_REL_TYPE_RELATE_TO);
}

TEST(Boxtrack, FollowsBoxesOfOtherDecoders) {
  Track h("per-class=true");
  const auto run = [&](guint number, const char* label) {
    Buffer in = h.frame(number);
    auto* meta = gst_buffer_add_analytics_relation_meta(in.get());
    gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string(label), 10, 20, 60, 90, 0.9f,
                                           nullptr);
    return h.id_of(h.run(in.release()));
  };
  for (guint i = 0; i < 5; ++i) EXPECT_EQ(run(i, "dog"), 1u);
  run(5, "cat");
  EXPECT_EQ(run(6, "cat"), 2u);
}

TEST(Boxtrack, TakesFramesInAnyMemory) {
  Track h("", "video/x-raw(memory:CUDAMemory),format=NV12,width=640,height=480,framerate=25/1");
  const auto run = [&](guint number) {
    Buffer in(gst_buffer_new());  // nothing that could be mapped
    GST_BUFFER_PTS(in.get()) = number * kStep;
    FrameBox list[] = {at(10)};
    attach_boxes(in.get(), list, {.frame = {640, 480}});
    return h.run(in.release());
  };
  run(0);
  EXPECT_EQ(h.id_of(run(1)), 1u);
}

TEST(Boxtrack, LeavesFramesWithoutBoxesAsTheyAre) {
  Track h;
  const Buffer out = h.run(h.frame(0).release());
  EXPECT_EQ(gst_buffer_get_analytics_relation_meta(out.get()), nullptr);
}

TEST(Boxtrack, LeavesSharedFramesAsTheyAre) {
  Track h;
  Buffer in = h.frame(0);
  FrameBox list[] = {at(10)};
  attach_boxes(in.get(), list, {});
  const Buffer out = h.run(gst_buffer_ref(in.get()));
  EXPECT_EQ(h.id_of(out), 1u);
  EXPECT_FALSE(boxes(in)[0].tracking_id);
}

TEST(Boxtrack, GoesOnAfterAMiss) {
  Track h;
  h.walk(0, 10);
  EXPECT_TRUE(boxes(h.see(10, {})).empty());
  EXPECT_EQ(h.id_of(h.walk(11, 12)), 1u);
}

TEST(Boxtrack, CountsTimeNotFrames) {
  // 0.96 and 1.12 seconds without the box, on few frames.
  for (const guint gap : {24u, 28u}) {
    Track h;
    for (guint i = 0; i < 10; ++i) h.see(i, {at(10)});
    h.see(9 + gap / 2, {});
    for (guint i = 9; i < 11; ++i) h.see(i + gap, {at(10)});
    EXPECT_EQ(h.id_of(h.see(11 + gap, {at(10)})), gap == 24 ? 1u : 2u) << gap;
  }
}

TEST(Boxtrack, CountsGapEventsAsTime) {
  Track h;
  h.walk(0, 10);
  gst_harness_push_event(h.get(), gst_event_new_gap(10 * kStep, 5 * GST_SECOND));
  h.see(135, {at(36)});
  EXPECT_EQ(h.id_of(h.see(136, {at(36)})), 2u);
}

TEST(Boxtrack, TakesFramesWithoutTimes) {
  Track h;
  for (guint i = 0; i < 30; ++i) {
    Buffer in = test::empty_frame();
    FrameBox list[] = {at(kSpeed * static_cast<float>(i))};
    attach_boxes(in.get(), list, {});
    EXPECT_EQ(h.id_of(h.run(in.release())), 1u);
  }
}

TEST(Boxtrack, FollowsAVideoBackwards) {
  Track h;
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.rate = -1;
  segment.stop = 100 * kStep;
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  for (guint i = 90; i > 60; --i)
    EXPECT_EQ(h.id_of(h.see(i, {at(kSpeed * static_cast<float>(i))})), 1u) << i;
}

/// Returns the id of a box that stays after an event.
guint64 id_after(const std::function<void(Track&)>& change) {
  Track h;
  for (guint i = 0; i < 5; ++i) h.see(i, {at(10)});
  change(h);
  h.see(5, {at(10)});
  return h.id_of(h.see(6, {at(10)}));
}

TEST(Boxtrack, EndsTracksWithWhatEndsThem) {
  const auto push = [](Track& h, GstEvent* event) { gst_harness_push_event(h.get(), event); };
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  const auto same = [&](Track& h) { push(h, gst_event_new_segment(&segment)); };
  EXPECT_EQ(id_after([](Track&) {}), 1u);
  EXPECT_EQ(id_after(same), 1u) << "the same segment";
  EXPECT_EQ(id_after([&](Track& h) { h.set_caps(kCaps); }), 1u) << "the same caps";
  EXPECT_EQ(id_after([&](Track& h) {
              h.set_caps("video/x-raw,format=RGB,width=640,height=480,framerate=5/1");
            }),
            1u)
      << "another frame rate";
  EXPECT_EQ(id_after([&](Track& h) {
              h.set_caps("video/x-raw,format=RGB,width=320,height=240,framerate=25/1");
            }),
            2u)
      << "another size";
  EXPECT_EQ(id_after([&](Track& h) {
              push(h, gst_event_new_flush_start());
              push(h, gst_event_new_flush_stop(TRUE));
              same(h);
            }),
            2u)
      << "a flush";
  EXPECT_EQ(id_after([&](Track& h) {
              GstSegment other = segment;
              other.start = other.time = GST_SECOND;
              other.base = GST_SECOND;
              push(h, gst_event_new_segment(&other));
            }),
            2u)
      << "another segment";
  EXPECT_EQ(id_after([&](Track& h) { h.set("method", 1); }), 2u) << "another method";
  EXPECT_EQ(id_after([&](Track& h) { h.set("match-iou", 0.3); }), 1u) << "a parameter";
  EXPECT_EQ(id_after([&](Track& h) {
              push(h, gst_event_new_stream_start("another"));
              h.set_caps(kCaps);
              same(h);
            }),
            1u)
      << "a new stream counts anew";
}

TEST(Boxtrack, FollowsEachModelAlone) {
  Track h;
  IdList found;
  // A box of the other model at the same place is not the same object.
  for (guint i = 0; i < 12; ++i)
    found = ids(boxes(h.see(i, {of(at(10), "faces"), of(at(10), "people")})));
  EXPECT_EQ(found, (IdList{1, 2}));
}

TEST(Boxtrack, FollowsOnlyTheModelThatIsAskedFor) {
  Track h("model-name=people");
  for (guint i = 0; i < 4; ++i)
    EXPECT_EQ(ids(boxes(h.see(i, {of(at(10), "faces"), of(at(10), "people")}))), (IdList{0, 1}));
}

TEST(Boxtrack, KeepsClassesApartIfAsked) {
  for (const bool apart : {false, true}) {
    Track h(apart ? "per-class=true" : "");
    h.walk(0, 5);
    FrameBox other = at(kSpeed * 5);
    other.class_id = 7;
    h.see(5, {other});
    EXPECT_EQ(h.id_of(h.see(6, {other})), apart ? 2u : 1u);
  }
}

TEST(Boxtrack, LeavesBoxesThatAreTrackedAlone) {
  Harness two("boxtrack method=oc-sort ! boxtrack", kCaps);
  for (guint i = 0; i < 5; ++i) {
    Buffer in = test::empty_frame();
    GST_BUFFER_PTS(in.get()) = i * kStep;
    FrameBox list[] = {at(10)};
    attach_boxes(in.get(), list, {});
    const Buffer out = two.run(in.release());
    EXPECT_EQ(
        test::related<GstAnalyticsTrackingMtd>(gst_buffer_get_analytics_relation_meta(out.get()), 0,
                                               gst_analytics_tracking_mtd_get_mtd_type())
            .size(),
        1u);
  }
}

TEST(Boxtrack, AddsNothingToFramesThatWereLeftOut) {
  Track h;
  h.walk(0, 10);
  EXPECT_TRUE(boxes(h.skip(10)).empty());
  // They are no misses.
  for (guint i = 11; i < 30; ++i) h.skip(i);
  EXPECT_EQ(h.id_of(h.walk(30, 31)), 1u);
}

TEST(Boxtrack, PredictsBoxes) {
  Track h("predict=true");
  h.walk(0, 20);
  for (guint i = 20; i < 23; ++i) {
    const auto found = boxes(h.skip(i));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].tracking_id, 1u);
    EXPECT_TRUE(found[0].predicted);
    EXPECT_FALSE(found[0].held);
    EXPECT_EQ(found[0].label, g_quark_from_string("thing"));
    EXPECT_NEAR(found[0].box.x1, kSpeed * static_cast<float>(i), 1);
    EXPECT_NEAR(found[0].box.x2 - found[0].box.x1, 60, 1);
  }
  const auto seen = boxes(h.walk(23, 24));
  EXPECT_EQ(ids(seen), IdList{1});
  EXPECT_FALSE(seen[0].predicted);
}

TEST(Boxtrack, PredictsOnFramesThatNoDecoderSaw) {
  Track h("predict=true");
  h.walk(0, 20);
  EXPECT_EQ(boxes(h.run(h.frame(20).release())).size(), 1u);
}

TEST(Boxtrack, StopsPredictingWhenTracksWouldBeLost) {
  Track h("predict=true lost-after=200000000");
  h.walk(0, 20);
  EXPECT_EQ(boxes(h.skip(24)).size(), 1u);
  EXPECT_TRUE(boxes(h.skip(25)).empty());
}

TEST(Boxtrack, PredictsNothingOutsideOfTheFrame) {
  Track h("predict=true");
  for (guint i = 0; i < 10; ++i) h.see(i, {at(480 + 12 * static_cast<float>(i))});
  const auto edge = boxes(h.skip(11));
  ASSERT_EQ(edge.size(), 1u);
  EXPECT_EQ(edge[0].box.x2, 640);
  EXPECT_TRUE(boxes(h.skip(17)).empty());
}

TEST(Boxtrack, PredictsKeypointsAndAngles) {
  Track h("predict=true");
  const Keypoint points[] = {{0, 100, 0.9f}, {60, 220, 0.8f}};
  const Edge edges[] = {{0, 1}};
  for (guint i = 0; i < 20; ++i) {
    const float x = kSpeed * static_cast<float>(i);
    std::array moved{Keypoint{points[0].x + x, 100, 0.9f}, Keypoint{points[1].x + x, 220, 0.8f}};
    FrameBox box = at(x), turned = at(x, 300);
    box.points = {moved, edges, g_quark_from_string("two")};
    turned.angle = 0.5f;
    turned.box.x2 += static_cast<float>(i);  // a predicted one keeps its sides
    h.see(i, {box, turned});
  }
  const Buffer frame = h.skip(20);  // owns the keypoints
  const auto found = boxes(frame);
  ASSERT_EQ(found.size(), 2u);
  ASSERT_EQ(found[0].points.points.size(), 2u);
  EXPECT_NEAR(found[0].points.points[0].x, kSpeed * 20, 1);
  EXPECT_NEAR(found[0].points.points[1].x, kSpeed * 20 + 60, 1);
  EXPECT_FLOAT_EQ(found[0].points.points[1].score, 0.8f);
  ASSERT_EQ(found[0].points.edges.size(), 1u);
  EXPECT_EQ(found[0].points.edges[0].to, 1);
  EXPECT_FLOAT_EQ(found[1].angle, 0.5f);
  EXPECT_NEAR(found[1].box.x1, kSpeed * 20, 1.5);
  EXPECT_FLOAT_EQ(found[1].box.x2 - found[1].box.x1, 60 + 19);
}

/// Returns two boxes. @param held true if they repeat those of an earlier frame.
std::vector<FrameBox> two(bool held) {
  std::vector<FrameBox> out{at(10), at(300)};
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].anchor = static_cast<uint32_t>(i);
    out[i].held = held;
  }
  return out;
}

TEST(Boxtrack, GivesRepeatedBoxesTheirIds) {
  Track h;
  h.see(0, two(false));
  const Buffer out = h.see(1, two(true));
  EXPECT_EQ(ids(boxes(out)), (IdList{1, 2}));
  EXPECT_EQ(boxes(out)[0].box, at(10).box);
  EXPECT_EQ(h.warning(), "");
}

TEST(Boxtrack, WarnsOnceThatRepeatedBoxesStay) {
  Track h("predict=true");
  for (guint i = 0; i < 9; i += 3) {
    h.see(i, two(false));
    EXPECT_EQ(boxes(h.see(i + 1, two(true)))[0].box, at(10).box);
    h.see(i + 2, two(true));
    const std::string warning = h.warning();
    if (i == 0) test::expect_words(warning, {"predict=true", "remove hold=true"});
    else EXPECT_EQ(warning, "");
  }
}

TEST(Boxtrack, CountsInStats) {
  Track h("predict=true");
  h.walk(0, 20);
  h.skip(20);
  const auto count = [&](const char* field) { return test::counted(h.element(), field); };
  EXPECT_EQ(count("frames"), 21u);
  EXPECT_EQ(count("analysed-frames"), 20u);
  EXPECT_EQ(count("boxes"), 20u);
  EXPECT_EQ(count("tracked-boxes"), 20u);
  EXPECT_EQ(count("predicted-boxes"), 1u);
  EXPECT_EQ(count("ids"), 1u);
}

TEST(Boxtrack, WarnsOfTooManyBoxes) {
  Track h;
  std::vector<FrameBox> list;
  for (int i = 0; i < 6000; ++i) {
    const auto x = static_cast<float>(i % 100) * 6, y = static_cast<float>(i / 100) * 6;
    list.push_back(plain_box({x, y, x + 5, y + 5}, 0.9f));
  }
  const Buffer out = h.see(0, list);
  test::expect_words(h.warning(), {"at most 10000 mtds", "max-detections"});
  EXPECT_EQ(boxes(out).size(), 6000u);
}

}  // namespace
}  // namespace keepbox
