// SPDX-License-Identifier: LGPL-2.1-or-later
// boxcount as an element: counts on frames, messages, which boxes count.
#include "tests/gst/count/boxcount.h"

#include <gst/analytics/analytics.h>

namespace keepbox::test::counting {
namespace {

std::string props(std::initializer_list<const char*> list) {
  std::string out;
  for (const char* each : list) out += std::string(each) + ' ';
  return out;
}

TEST(Boxcount, CountsOnEachFrame) {
  Count h(props({kGate, kQueue, "band=5"}));
  EXPECT_EQ(Count::line(h.walk({200, 280})), "0/0");
  const Buffer out = h.walk({320, 360});
  EXPECT_EQ(Count::line(out), "0/1");
  const FrameCounts& counts = *counts_of(out.get());
  EXPECT_EQ(counts.lines[0].name, "gate");
  EXPECT_EQ(counts.lines[0].points[1].x, 640);
  EXPECT_EQ(counts.zones[0].corners.size(), 4u);
  EXPECT_EQ(counts.zones[0].now(), 1u);
  EXPECT_EQ(counts.zones[0].visits, 1u);
  EXPECT_EQ(counts.zones[0].present[0].object.id, 1u);
  EXPECT_EQ(counts.zones[0].present[0].since, 0u);
  EXPECT_EQ(counts.zones[0].present[0].dwell, 3 * kCountStep);
  EXPECT_EQ(Count::line(h.see({})), "0/1") << "a frame without boxes";
}

TEST(Boxcount, TellsWhatHappens) {
  Count h(props({kGate, "zones=queue=100,250,500,250,500,400,100,400", "band=5",
                 "dwell-alarm=80000000", "crowd-alarm=0"}));
  h.walk({200, 280, 320, 360, 390, 440});
  const auto found = h.messages();
  std::vector<std::string> texts;
  for (const Message& each : found) texts.push_back(each.text);
  ASSERT_EQ(texts, (std::vector<std::string>{
                       "boxcount-entered queue person street", "boxcount-crowded queue",
                       "boxcount-crossed gate out person street",
                       "boxcount-dwelt queue person street", "boxcount-left queue person street"}));
  EXPECT_EQ(found[0].numbers,
            (std::map<std::string, guint64>{
                {"id", 1}, {"now", 1}, {"running-time", kCountStep}, {"stream-time", kCountStep}}));
  EXPECT_EQ(found[2].numbers.at("stream-time"), 2 * kCountStep);
  EXPECT_EQ(found[4].numbers.at("dwell"), 3 * kCountStep);
  EXPECT_EQ(found[4].numbers.at("stream-time"), 4 * kCountStep) << "when it was inside last";
  EXPECT_EQ(found[4].numbers.at("now"), 0u);
}

TEST(Boxcount, NotesOnTheFrameWhatHappens) {
  Count h(props({"lines=\"gate=0,300,640,300,enter,leave\"", "band=5"}));
  EXPECT_TRUE(counts_of(h.walk({200, 280}).get())->notes.empty());
  const Buffer crossed = h.walk({320});
  const auto& notes = counts_of(crossed.get())->notes;
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].direction, "leave");
  EXPECT_EQ(notes[0].object.id, 1u);
  EXPECT_EQ(notes[0].label, g_quark_from_string("person"));
  EXPECT_TRUE(counts_of(h.walk({360}).get())->notes.empty());
}

TEST(Boxcount, CountsTheWayOfTheChosenPoint) {
  Count bottom(props({kGate})), center(props({kGate, "point=center"}));
  // Feet go from 280 to 320, centres from 240 to 280.
  EXPECT_EQ(Count::line(bottom.walk({280, 320})), "0/1");
  EXPECT_EQ(Count::line(center.walk({280, 320})), "0/0");
  EXPECT_EQ(Count::line(center.walk({360})), "0/1");
}

TEST(Boxcount, CountsTheChosenClassesAndModel) {
  const auto count = [](const char* choice) {
    Count h(props({kGate, choice}));
    const std::vector<Walker> above{
        {1, 100, 200}, {2, 200, 200, "dog"}, {1, 300, 200, "person", "b"}};
    std::vector<Walker> below = above;
    for (Walker& each : below) each.y = 400;
    h.see(above);
    return Count::line(h.see(below));
  };
  EXPECT_EQ(count(""), "0/3") << "ids of two models";
  EXPECT_EQ(count("include-classes=person"), "0/2");
  EXPECT_EQ(count("include-classes=dog,cat"), "0/1");
  EXPECT_EQ(count("include-classes=!dog"), "0/2");
  EXPECT_EQ(count("model-name=b"), "0/1");
}

TEST(Boxcount, CountsBoxesOfOtherDecoders) {
  Count h(props({kGate}));
  Buffer out;
  for (const int y : {200, 400}) {
    Buffer in = h.frame({});
    auto* meta = gst_buffer_get_analytics_relation_meta(in.get());
    GstAnalyticsODMtd od;
    gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("dog"), 300, y - 80, 40, 80,
                                           0.9f, &od);
    add_track(meta, od.id, {.id = 9});
    out = h.run(in.release());
  }
  EXPECT_EQ(Count::line(out), "0/1");
}

TEST(Boxcount, TakesFramesInAnyMemory) {
  Count h(props({kGate}),
          "video/x-raw(memory:CUDAMemory),format=NV12,width=640,height=480,framerate=25/1");
  EXPECT_EQ(Count::line(h.walk({200, 400})), "0/1");
}

TEST(Boxcount, LeavesSharedFramesAsTheyAre) {
  Count h(props({kGate}));
  const Buffer in = h.frame({{1, 320, 200}});
  const Buffer out = h.run(gst_buffer_ref(in.get()));
  EXPECT_NE(counts_of(out.get()), nullptr);
  EXPECT_EQ(counts_of(in.get()), nullptr);
}

TEST(Boxcount, AddsToTheCountsOfAnother) {
  Harness h("boxcount lines=a=0,300,640,300 ! boxcount lines=b=0,100,640,100", kCountCaps);
  Count other(props({kGate}));
  const Buffer out = h.run(other.frame({{1, 320, 200}}).release());
  ASSERT_EQ(counts_of(out.get())->lines.size(), 2u);
  EXPECT_EQ(counts_of(out.get())->lines[1].name, "b");
}

/// Boxes that were not found on a frame are not where they are.
TEST(Boxcount, IgnoresHeldAndPredictedBoxes) {
  Count h(props({kGate, kQueue, "band=5"}));
  h.walk({200, 280});
  for (const auto& change :
       {+[](FrameBox& box) { box.held = true; }, +[](FrameBox& box) { box.predicted = true; }})
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Count::line(h.see({{1, 320, 440}}, change)), "0/0");
  const Buffer back = h.walk({260, 220});
  EXPECT_EQ(Count::line(back), "0/0");
  EXPECT_EQ(Count::zone(back).visits, 1u);
}

TEST(Boxcount, EndsNothingOnSkippedFrames) {
  Count h(props({kQueue, "lost-after=100000000"}));
  h.walk({200, 200});
  Buffer out;
  for (int i = 0; i < 10; ++i) {
    Buffer in = empty_frame();
    GST_BUFFER_PTS(in.get()) = h.number++ * kCountStep;
    if (i < 5) note_skipped_model(in.get(), g_quark_from_string("street"));
    else note_skipped(in.get());
    out = h.run(in.release());
    ASSERT_EQ(Count::zone(out).now(), 1u) << i;
  }
  EXPECT_EQ(Count::zone(h.see({})).now(), 0u) << "now the model looked";
}

TEST(Boxcount, CountsWithTheCapsOfAnotherSize) {
  Count h("lines=gate=0,0.5,1,0.5 band=5");
  EXPECT_EQ(Count::line(h.walk({200, 280})), "0/1");
  h.set_caps("video/x-raw,format=RGB,width=1280,height=960,framerate=25/1");
  const Buffer out = h.walk({400, 440});
  EXPECT_EQ(Count::line(out), "0/1");
  EXPECT_EQ(counts_of(out.get())->lines[0].points[1].x, 1280);
  EXPECT_EQ(Count::line(h.walk({500})), "0/2");
}

TEST(Boxcount, TakesFramesWithoutTimes) {
  Count h(props({kQueue}));
  Buffer out;
  for (int i = 0; i < 26; ++i) {
    Buffer in = h.frame({{1, 320, 200}});
    GST_BUFFER_PTS(in.get()) = GST_CLOCK_TIME_NONE;
    out = h.run(in.release());
  }
  EXPECT_EQ(Count::zone(out).longest, GST_SECOND);
  EXPECT_EQ(h.messages().at(0).numbers.count("stream-time"), 0u);
}

TEST(Boxcount, TakesBoxesBeyondTheFrame) {
  Count h(props({kGate, kQueue}));
  for (const float at : {-1e30f, 1e30f, -50.f, 700.f, 300.f}) h.see({{1, at, at}, {2, 320, at}});
  EXPECT_TRUE(h.error().empty());
}

// Messages about what is wrong.

TEST(Boxcount, WarnsOnceOfBoxesWithoutIds) {
  Count h(props({kGate}));
  for (int i = 0; i < 120; ++i) h.see({{0, 320, 200}});
  expect_words(h.warning(), {"no box has an id", "Put boxtrack before boxcount"});
  EXPECT_EQ(h.warning(), "");
  Count few(props({kGate}));
  few.see({{0, 320, 200}});
  EXPECT_EQ(few.warning(), "");
  gst_harness_push_event(few.get(), gst_event_new_eos());
  expect_words(few.warning(), {"no box has an id"});
}

TEST(Boxcount, WarnsAtTheEndOfClassesThatNoBoxHad) {
  Count h(props({kGate, "include-classes=dgo,person"}));
  h.walk({200, 280});
  h.see({{2, 100, 100, "dog"}});
  gst_harness_push_event(h.get(), gst_event_new_eos());
  expect_words(h.warning(), {"No box had the class dgo", "dog", "person"});
}

TEST(Boxcount, RefusesLinesAndZonesThatCannotBe) {
  expect_words(error_of("lines=gate=1,2,3"), {"gate", "four numbers"});
  expect_words(error_of("lines=gate=1,2,3,4,in"), {"gate", "two names of directions"});
  expect_words(error_of("lines=gate=9,9,9,9"), {"gate", "no length"});
  expect_words(error_of("lines=gate=1,2,3,nan"), {"gate"});
  expect_words(error_of("lines=1,2,3,4"), {"no name"});
  expect_words(error_of("lines=\"a=1,2,3,4;a=1,2,3,5\""), {"a", "twice"});
  expect_words(error_of("lines=a=1,2,3e9,4"), {"a", "16,777,216"});
  expect_words(error_of("lines=a=1,2,3,4,up,up"), {"a", "directions"});
  expect_words(error_of("zones=z=1,2,3,4"), {"z", "three corners"});
  expect_words(error_of("zones=z=1,2,3,4,5"), {"z", "two numbers per corner"});
  expect_words(error_of("zones=z=1,1,2,2,3,3,9,9"), {"z", "no area"});
}

TEST(Boxcount, TakesUnusualCorners) {
  std::string many = "zones=z=";
  for (int i = 0; i < 10'000; ++i)
    many += std::to_string(2 + i % 600) + "," + std::to_string(i % 7 * 60) + (i < 9999 ? "," : "");
  Count h(many);
  const Buffer out = h.see({{1, 320, 200}});
  EXPECT_TRUE(h.error().empty());
  EXPECT_EQ(Count::zone(out).corners.size(), 10'000u);
  expect_words(error_of(many + ",1,1"), {"z", "10,000 corners"});
}

}  // namespace
}  // namespace keepbox::test::counting
