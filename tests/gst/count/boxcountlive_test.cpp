// SPDX-License-Identifier: LGPL-2.1-or-later
// boxcount through time: changes while frames pass, flushes, segments and streams, files of lines.
#include <fstream>

#include "tests/gst/count/boxcount.h"
#include "tests/tempdir.h"

namespace keepbox::test::counting {
namespace {

TEST(Boxcount, TakesOtherLinesWhilePlaying) {
  Count h(kGate);
  EXPECT_EQ(Count::line(h.walk({200, 400})), "0/1");
  h.set("lines", "gate=0,300,640,300;more=0,420,640,420");
  const Buffer out = h.walk({440});
  EXPECT_EQ(Count::line(out), "0/1") << "the old line goes on";
  EXPECT_EQ(Count::line(out, 1), "0/0") << "the way to the new line is not known";
  EXPECT_EQ(Count::line(h.walk({410, 200})), "1/1");
  h.set("lines", "gate=0,100,640,100");
  EXPECT_EQ(Count::line(h.walk({200, 180})), "1/1") << "the name keeps its count";
  EXPECT_EQ(Count::line(h.walk({40})), "2/1");
  h.set("lines", "other=0,100,640,100");
  EXPECT_EQ(Count::line(h.walk({40})), "0/0");
  EXPECT_EQ(h.warning(), "");
}

TEST(Boxcount, KeepsLinesWhenOthersAreWrong) {
  Count h(kGate);
  h.walk({200, 280});
  h.set("lines", "gate=1,2,3");
  expect_words(h.warning(), {"gate", "four numbers", "lines stays"});
  g_autofree gchar* lines = nullptr;
  g_object_get(h.element(), "lines", &lines, nullptr);
  EXPECT_STREQ(lines, "gate=0,300,640,300");
  EXPECT_EQ(Count::line(h.walk({400})), "0/1");
}

TEST(Boxcount, EndsVisitsOfZonesThatMove) {
  Count h(kQueue);
  h.walk({200, 200});
  h.messages();
  h.set("zones", "queue=0,0,50,0,50,50");
  const Buffer out = h.walk({200});
  EXPECT_EQ(Count::zone(out).now(), 0u);
  EXPECT_EQ(Count::zone(out).visits, 1u);
  EXPECT_EQ(h.texts(), std::vector<std::string>{"boxcount-left queue person street"});
}

TEST(Boxcount, TakesOtherSettingsWhilePlaying) {
  Count h(std::string(kGate) + " band=50");
  EXPECT_EQ(Count::line(h.walk({280, 320})), "0/0");
  h.set("band", 5.0);
  EXPECT_EQ(Count::line(h.walk({322})), "0/1");
  h.set("include-classes", "dog");
  EXPECT_EQ(Count::line(h.walk({200})), "0/1");
  h.set("include-classes", "person");
  EXPECT_EQ(Count::line(h.walk({200})), "1/1");
}

TEST(Boxcount, EndsVisitsWithAFlush) {
  Count h(std::string(kGate) + ' ' + kQueue);
  h.walk({200, 280, 320, 280});
  h.messages();
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  EXPECT_EQ(h.texts(), std::vector<std::string>{"boxcount-left queue person street"});
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  const Buffer out = h.walk({320});
  EXPECT_EQ(Count::line(out), "1/1") << "counts go on, ways do not";
  EXPECT_EQ(Count::zone(out).visits, 2u);
}

TEST(Boxcount, EndsVisitsWithTheStream) {
  Count h(kQueue);
  h.walk({200, 200, 200});
  h.messages();
  gst_harness_push_event(h.get(), gst_event_new_eos());
  const auto found = h.messages();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text, "boxcount-left queue person street");
  EXPECT_EQ(found[0].numbers.at("dwell"), 2 * kCountStep);
  // Elements downstream hear of it before the end.
  std::optional<FrameCounts> told;
  while (GstEvent* event = gst_harness_try_pull_event(h.get())) {
    if (const auto counts = counts_of_event(event)) told = counts;
    EXPECT_TRUE(told || GST_EVENT_TYPE(event) != GST_EVENT_EOS);
    gst_event_unref(event);
  }
  ASSERT_TRUE(told);
  EXPECT_EQ(told->notes.at(0).dwell, 2 * kCountStep);
}

TEST(Boxcount, BeginsAgainWithAnotherStream) {
  Count h(kGate);
  h.walk({200, 400});
  const auto begin = [&](const char* stream) {
    gst_harness_push_event(h.get(), gst_event_new_stream_start(stream));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  };
  begin("one");
  EXPECT_EQ(Count::line(h.walk({200, 400})), "0/1");
  begin("one");
  EXPECT_EQ(Count::line(h.walk({200, 400})), "0/2") << "the same stream, as of a file in a loop";
  begin("two");
  EXPECT_EQ(Count::line(h.walk({200, 400})), "0/1");
}

TEST(Boxcount, BeginsAgainWithAnotherStart) {
  Count h(kGate);
  h.walk({200, 400});
  gst_element_set_state(h.get()->element, GST_STATE_READY);
  gst_element_set_state(h.get()->element, GST_STATE_PLAYING);
  h.set_caps(kCountCaps);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_stream_start("again"));
  h.set_caps(kCountCaps);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  EXPECT_EQ(Count::line(h.walk({200, 220})), "0/0");
}

// Files.

class BoxcountFile : public testing::Test {
 protected:
  std::string file(const std::string& text) {
    std::ofstream(folder_ / "zones.json") << text;
    return "file=" + (folder_ / "zones.json");
  }
  std::string error_of_file(const std::string& text) { return error_of(file(text)); }
  TempDir folder_;
};

TEST_F(BoxcountFile, HasLinesAndZones) {
  Count h(file(R"({"lines": [{"name": "door; a=b", "points": [[0, 300], [640, 300]],
                              "directions": ["enter", "leave"]}],
                   "zones": [{"name": "queue", "points": [[0.1, 0.1], [0.9, 0.1], [0.9, 0.9]],
                              "dwell-alarm": 40000000, "crowd-alarm": 5}]})") +
          " lines=gate=0,100,640,100");
  const Buffer out = h.walk({200, 210, 280, 320});
  const FrameCounts& counts = *counts_of(out.get());
  ASSERT_EQ(counts.lines.size(), 2u);
  EXPECT_EQ(counts.lines[1].name, "door; a=b");
  EXPECT_EQ(counts.lines[1].directions[1], "leave");
  EXPECT_EQ(Count::line(out, 1), "0/1");
  EXPECT_EQ(counts.zones[0].corners[1].x, 576);
  EXPECT_TRUE(std::ranges::contains(h.texts(), "boxcount-dwelt queue person street"));
}

TEST_F(BoxcountFile, IsReadAgainWhenItIsSetAgain) {
  const std::string was = file(R"({"lines": [{"name": "a", "points": [[0, 9], [9, 9]]}]})");
  Count h(was);
  EXPECT_EQ(counts_of(h.walk({200}).get())->lines.at(0).name, "a");
  file(R"({"lines": [{"name": "b", "points": [[0, 9], [9, 9]]}]})");
  h.set("file", was.substr(5).c_str());
  EXPECT_EQ(counts_of(h.walk({200}).get())->lines.at(0).name, "b");
}

TEST_F(BoxcountFile, NamesWhatIsWrong) {
  expect_words(error_of_file("["), {"zones.json", "JSON object"});
  expect_words(error_of_file(R"({"lnies": []})"), {"zones.json", "lnies"});
  expect_words(error_of_file(R"({"lines": [{"name": "a", "points": [[1, 2]]}]})"),
               {"\"a\"", "two points"});
  expect_words(error_of_file(R"({"lines": [{"name": "a", "points": [[1, 2], [1, "x"]]}]})"),
               {"\"a\"", "[x, y]"});
  expect_words(error_of_file(R"({"zones": [{"points": [[1, 2]]}]})"), {"zone", "no name"});
  expect_words(error_of_file(R"({"zones": [{"name": "z", "points": [[1, 2], [3, 4]]}]})"),
               {"\"z\"", "three corners"});
  expect_words(error_of_file(R"({"zones": [{"name": "z", "points": [], "alarm": 1}]})"),
               {"\"z\"", "alarm"});
  expect_words(error_of("file=/nowhere/zones.json"), {"/nowhere/zones.json"});
}

// Statistics.

TEST(Boxcount, HasStatistics) {
  Count h(std::string(kGate) + ' ' + kQueue);
  h.walk({200, 280, 320, 360});
  EXPECT_EQ(counted(h.element(), "frames"), 4u);
  EXPECT_EQ(counted(h.element(), "boxes"), 4u);
  EXPECT_EQ(counted(h.element(), "crossings"), 1u);
  EXPECT_EQ(counted(h.element(), "visits"), 1u);
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(h.element(), "stats", &stats, nullptr);
  const GValue* lines = gst_structure_get_value(stats, "lines");
  ASSERT_EQ(gst_value_list_get_size(lines), 1u);
  const GstStructure* line = gst_value_get_structure(gst_value_list_get_value(lines, 0));
  EXPECT_STREQ(gst_structure_get_string(line, "name"), "gate");
  guint64 out = 0;
  EXPECT_TRUE(gst_structure_get_uint64(line, "out", &out));
  EXPECT_EQ(out, 1u);
}

}  // namespace
}  // namespace keepbox::test::counting
