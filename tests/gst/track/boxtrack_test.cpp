// SPDX-License-Identifier: LGPL-2.1-or-later
// boxtrack as an element: ids on frames, several models, frames without inference.
#include "tests/gst/track/boxtrack.h"

#include <gst/analytics/analytics.h>

#include "gst/metas/labels.h"
#include "gst/metas/skippedmodels.h"

namespace keepbox::test {
namespace {

FrameBox of(FrameBox box, const char* model) {
  box.model = g_quark_from_string(model);
  return box;
}

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
      related<GstAnalyticsTrackingMtd>(meta, 0, gst_analytics_tracking_mtd_get_mtd_type());
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

/// Only frames that the model of a box looked at can miss it.
TEST(Boxtrack, CountsTheFramesThatAModelLookedAt) {
  const auto id_after = [](const char* skipped) {
    Track h("lost-after=200000000");
    const FrameBox box = of(at(100), "street");
    for (guint i = 0; i < 5; ++i) h.see(i, {box}, i == 3 ? "faces" : nullptr);
    for (guint i = 5; i < 30; ++i) h.see(i, {}, skipped);
    h.see(30, {box});
    return h.id_of(h.see(31, {box}));
  };
  EXPECT_EQ(id_after("street"), 1u);
  EXPECT_EQ(id_after("faces"), 2u) << "gone for a second";
  EXPECT_EQ(id_after("renamed"), 1u) << "may be another name of the model";
}

/// A model that looked at some objects of a frame did not miss the others.
TEST(Boxtrack, CountsNoMissesOnFramesThatWerePartlyLookedAt) {
  for (const char* method : {"bytetrack", "sort", "oc-sort"}) {
    Track h(std::string("lost-after=200000000 method=") + method);
    const std::vector<FrameBox> both{of(at(100), "plates"), of(at(300), "plates")};
    for (guint i = 0; i < 5; ++i) h.see(i, both);
    for (guint i = 5; i < 25; ++i)
      EXPECT_EQ(ids(boxes(h.see(i, {both[1]}, "plates"))), IdList{2}) << method << i;
    EXPECT_EQ(ids(boxes(h.see(25, both))), (IdList{1, 2})) << method;
    for (guint i = 26; i < 60; ++i) h.see(i, {both[1]});
    EXPECT_EQ(ids(boxes(h.see(60, {both[1]}))), IdList{2}) << method;
    h.see(61, both);
    EXPECT_NE(ids(boxes(h.see(62, both)))[0], 1u) << method << ": now it was missed";
  }
}

TEST(Boxtrack, PredictsWhatAFrameWasNotLookedAtFor) {
  Track h("predict=true");
  const std::vector<FrameBox> both{of(at(100), "plates"), of(at(300), "plates")};
  for (guint i = 0; i < 5; ++i) h.see(i, both);
  for (guint i = 5; i < 9; ++i) {
    const std::vector<FrameBox> there = boxes(h.see(i, {both[1]}, "plates"));
    ASSERT_EQ(ids(there), (IdList{2, 1})) << i;
    EXPECT_TRUE(there[1].predicted);
    EXPECT_NEAR(there[1].box.x1, 100, 1);
  }
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
  Harness two("boxtrack method=oc-sort ! boxtrack", kTrackCaps);
  for (guint i = 0; i < 5; ++i) {
    Buffer in = empty_frame();
    GST_BUFFER_PTS(in.get()) = i * kStep;
    FrameBox list[] = {at(10)};
    attach_boxes(in.get(), list, {});
    const Buffer out = two.run(in.release());
    EXPECT_EQ(related<GstAnalyticsTrackingMtd>(gst_buffer_get_analytics_relation_meta(out.get()), 0,
                                               gst_analytics_tracking_mtd_get_mtd_type())
                  .size(),
              1u);
  }
}

/// The first one gives its first id later than the second one would.
TEST(Boxtrack, GivesNoIdsWhereAnotherFollows) {
  Track two("! boxtrack high-threshold=0.3 new-threshold=0.4");
  std::vector<IdList> found;
  for (guint i = 0; i < 6; ++i)
    found.push_back(
        ids(boxes(two.see(i, {at(100, 100, 0.5f), at(300, 100, i > 1 ? 0.9f : 0.5f)}))));
  const std::vector<IdList> want{{0, 0}, {0, 0}, {0, 0}, {0, 1}, {0, 1}, {0, 1}};
  EXPECT_EQ(found, want);
}

/// Another tracker than ours cannot be asked.
TEST(Boxtrack, GivesNoIdsOnceAnotherHas) {
  Track h;
  const auto run = [&](guint number, std::optional<guint64> id) {
    Buffer in = h.frame(number);
    FrameBox list[] = {at(10), at(300)};
    attach_boxes(in.get(), list, {.frame = {640, 480}});
    if (id) {
      auto* meta = gst_buffer_get_analytics_relation_meta(in.get());
      GstAnalyticsTrackingMtd track;
      gst_analytics_relation_meta_add_tracking_mtd(meta, *id, 0, &track);
      gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                               list[0].od_id, track.id);
    }
    return ids(boxes(h.run(in.release())));
  };
  EXPECT_EQ(run(0, 7), (IdList{7, 0}));
  EXPECT_EQ(run(1, std::nullopt), (IdList{0, 0}));
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  EXPECT_EQ(run(2, std::nullopt), (IdList{0, 0})) << "ids of the stream go on after a seek";
  gst_harness_push_event(h.get(), gst_event_new_stream_start("another"));
  h.set_caps(kTrackCaps);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  EXPECT_EQ(run(3, std::nullopt), (IdList{1, 2})) << "another stream";
}

TEST(Boxtrack, FollowsModelsNextToOneThatIsTracked) {
  Track two("model-name=faces ! boxtrack");
  for (guint i = 0; i < 3; ++i)
    EXPECT_EQ(ids(boxes(two.see(i, {of(at(10), "faces"), of(at(300), "people")}))), (IdList{1, 1}));
}

TEST(Boxtrack, AddsNothingToFramesThatWereLeftOut) {
  Track h;
  h.walk(0, 10);
  EXPECT_TRUE(boxes(h.skip(10)).empty());
  // These are not misses.
  for (guint i = 11; i < 30; ++i) h.skip(i);
  EXPECT_EQ(h.id_of(h.walk(30, 31)), 1u);
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

/// Anchors are numbered tile by tile.
TEST(Boxtrack, GivesRepeatedBoxesOfTilesTheirIds) {
  Track h;
  std::vector<FrameBox> seen{at(10), at(300), at(150)};
  EXPECT_EQ(ids(boxes(h.see(0, seen))), (IdList{1, 2, 3}));
  for (FrameBox& box : seen) box.held = true;
  EXPECT_EQ(ids(boxes(h.see(1, seen))), (IdList{1, 2, 3}));
  std::swap(seen[0], seen[2]);
  EXPECT_EQ(ids(boxes(h.see(2, seen))), (IdList{3, 2, 1})) << "in another order";
  seen[1] = seen[0];
  EXPECT_EQ(ids(boxes(h.see(3, seen))), (IdList{3, 2, 1})) << "each id once";
}

/// A part of a tracked object, whose id decoders of parts keep them by.
struct Part {
  guint64 object;
  float x;  // of part and object
  bool held = false;
};

/// Runs a frame of objects with parts. @return the ids of the parts
IdList parts_on(Track& h, guint number, const std::vector<Part>& parts) {
  Buffer in = h.frame(number);
  std::vector<FrameBox> objects, list;
  for (const Part& part : parts) objects.push_back(of(at(part.x), "cars"));
  attach_boxes(in.get(), objects, {.frame = {640, 480}});
  for (size_t i = 0; i < parts.size(); ++i) {
    add_track(gst_buffer_get_analytics_relation_meta(in.get()), objects[i].od_id,
              {.id = parts[i].object});
    FrameBox plate = of(plain_box({parts[i].x, 180, parts[i].x + 20, 190}, 0.9f), "plates");
    plate.held = parts[i].held;
    plate.parent = objects[i].od_id;
    list.push_back(plate);
  }
  attach_boxes(in.get(), list, {.frame = {640, 480}});
  std::vector<FrameBox> found = boxes(h.run(in.release()));
  std::erase_if(found, [](const FrameBox& box) { return !box.parent; });
  return ids(found);
}

/// Each object has its own image, in which anchors are numbered.
TEST(Boxtrack, GivesRepeatedPartsTheIdsOfTheirObjects) {
  Track h;
  EXPECT_EQ(parts_on(h, 0, {{7, 100}, {8, 300}, {9, 500}}), (IdList{1, 2, 3}));
  EXPECT_EQ(parts_on(h, 1, {{7, 100, true}, {8, 300, true}}), (IdList{1, 2}));
  EXPECT_EQ(parts_on(h, 2, {{8, 100, true}, {7, 300, true}}), (IdList{2, 1}))
      << "wherever they are";
  EXPECT_EQ(parts_on(h, 3, {{8, 300, true}, {5, 100, true}, {9, 500, true}}), (IdList{2, 0, 3}))
      << "the part of another object";
}

/// The model runs on each object at another time.
TEST(Boxtrack, FollowsPartsThatAreRepeatedBesidesOthers) {
  for (const char* method : {"bytetrack", "sort", "oc-sort"}) {
    Track h(std::string("lost-after=200000000 method=") + method);
    const auto x = [](guint number) { return 100 + 6 * static_cast<float>(number); };
    for (guint i = 0; i < 6; ++i)
      EXPECT_EQ(parts_on(h, i, {{7, x(i)}, {8, 400}}), (IdList{1, 2})) << method;
    for (guint i = 6; i < 40; ++i)
      EXPECT_EQ(parts_on(h, i, {{7, x(i), true}, {8, 400, i % 3 == 0}}), (IdList{1, 2}))
          << method << i;
    EXPECT_EQ(parts_on(h, 40, {{7, x(40)}, {8, 400}}), (IdList{1, 2})) << method;
    for (guint i = 41; i < 50; ++i) parts_on(h, i, {{8, 400}});
    EXPECT_EQ(h.warning(), "");
    parts_on(h, 50, {{7, x(40)}, {8, 400}});
    EXPECT_NE(parts_on(h, 51, {{7, x(40)}, {8, 400}})[0], 1u) << method << ": was missed";
  }
}

/// A part that is seen once, and again when another look is due, is confirmed then.
TEST(Boxtrack, ConfirmsAPartThatIsRepeatedInBetween) {
  Track h;
  for (guint i = 0; i < 3; ++i) EXPECT_EQ(parts_on(h, i, {{8, 400}}), IdList{1});
  EXPECT_EQ(parts_on(h, 3, {{8, 400}, {7, 100}}), (IdList{1, 0}));
  for (guint i = 4; i < 8; ++i)
    EXPECT_EQ(parts_on(h, i, {{8, 400}, {7, 100, true}}), (IdList{1, 0}));
  EXPECT_EQ(parts_on(h, 8, {{8, 400}, {7, 100}}), (IdList{1, 2}));
  EXPECT_EQ(parts_on(h, 9, {{8, 400}, {7, 100, true}}), (IdList{1, 2}));
}

TEST(Boxtrack, WarnsOnceThatRepeatedBoxesStay) {
  Track h("predict=true");
  for (guint i = 0; i < 9; i += 3) {
    h.see(i, two(false));
    EXPECT_EQ(boxes(h.see(i + 1, two(true)))[0].box, at(10).box);
    h.see(i + 2, two(true));
    const std::string warning = h.warning();
    if (i == 0) test::expect_words(warning, {"predict=true", "Remove hold=true"});
    else EXPECT_EQ(warning, "");
  }
  Track parts("predict=true");
  parts_on(parts, 0, {{7, 100}});
  parts_on(parts, 1, {{7, 110, true}});
  EXPECT_EQ(parts.warning(), "") << "parts move with their objects";
}

TEST(Boxtrack, CountsInStats) {
  Track h("predict=true");
  h.walk(0, 20);
  h.skip(20);
  const auto count = [&](const char* field) { return counted(h.element(), field); };
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
  expect_words(h.warning(), {"the maximum is 10000", "max-detections"});
  EXPECT_EQ(boxes(out).size(), 6000u);
}

}  // namespace
}  // namespace keepbox::test
