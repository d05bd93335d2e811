// SPDX-License-Identifier: LGPL-2.1-or-later
// boxsink writes what boxcount counted: totals on each JSON line, and a line per event.
#include "gst/metas/counts.h"
#include "tests/gst/frames.h"
#include "tests/gst/sink/boxsink.h"

namespace keepbox::test::countfiles {
namespace {

FrameCounts counts_at(guint64 in) {
  FrameCounts out;
  out.lines.push_back({.name = "gate", .crossed = {in, 0}});
  out.zones.push_back({.name = "queue",
                       .present = {{.object = {0, 7}, .dwell = 1500 * GST_MSECOND}},
                       .visits = 5,
                       .mean = 2 * GST_SECOND,
                       .longest = 9 * GST_SECOND});
  return out;
}

CountNote crossed(guint64 id) {
  return {.name = "gate, south",
          .direction = "in",
          .object = {g_quark_from_string("street"), id},
          .label = g_quark_from_string("person"),
          .ago = 40 * GST_MSECOND};
}

CountNote left() {
  return {.kind = CountNote::Kind::kLeft,
          .name = "queue",
          .object = {g_quark_from_string("boxdecode0"), 8},
          .unnamed = true,
          .dwell = 1250 * GST_MSECOND,
          .now = 2};
}

/// Writes frames with these counts, and one event after them.
std::string written(const std::string& props, const std::vector<FrameCounts>& frames,
                    const FrameCounts& end = {}) {
  const TempDir folder;
  const std::string path = folder / "out";
  GstHarness* h = gst_harness_new_parse(("boxsink location=" + path + " " + props).c_str());
  gst_harness_set_src_caps_str(h, kCaps);
  for (guint i = 0; i < frames.size(); ++i) {
    GstBuffer* buffer = i % 2 == 0 ? with_ours(i) : frame(i);
    attach_counts(buffer, frames[i]);
    EXPECT_EQ(gst_harness_push(h, buffer), GST_FLOW_OK);
  }
  if (!end.empty()) gst_harness_push_event(h, counts_event(end));
  gst_harness_push_event(h, gst_event_new_eos());
  gst_harness_teardown(h);
  return read(path);
}

bool has(const std::string& text, const std::string& part) { return text.contains(part); }

TEST(CountFiles, HaveTotalsOnEachLine) {
  FrameCounts uncertain = counts_at(1);
  uncertain.lines[0].uncertain = {0, 2};
  uncertain.zones[0].crowded = true;
  const std::string text = written("", {counts_at(0), uncertain});
  EXPECT_TRUE(has(text, R"("lines":{"gate":{"in":0,"out":0}},"zones":{"queue":{"now":1,"visits":5,)"
                        R"("mean":2.0,"max":9.0,"present":[{"id":7,"seconds":1.5}]}}})"
                        "\n"))
      << text;
  EXPECT_TRUE(has(text, R"("gate":{"in":1,"out":0,"uncertain":{"in":0,"out":2}})")) << text;
  EXPECT_TRUE(has(text, R"("max":9.0,"crowded":true,)")) << text;
}

TEST(CountFiles, TellModelsApart) {
  FrameCounts both = counts_at(0);
  both.zones[0].present = {{.object = {g_quark_from_string("a"), 7}},
                           {.object = {g_quark_from_string("b"), 7}}};
  const std::string text = written("", {both});
  EXPECT_TRUE(has(text, R"([{"id":7,"seconds":0.0,"model":{"name":"a"}},{"id":7,"seconds":0.0,)"
                        R"("model":{"name":"b"}}])"))
      << text;
}

TEST(CountFiles, HaveLinesOfTheSameName) {
  FrameCounts both = counts_at(1);
  both.lines.push_back({.name = "gate", .crossed = {3, 4}});
  const std::string text = written("", {both});
  EXPECT_TRUE(has(text, R"("gate":{"in":1,"out":0},"gate_":{"in":3,"out":4})")) << text;
}

TEST(CountFiles, HaveARowPerEvent) {
  FrameCounts second = counts_at(1), end;
  second.notes = {crossed(3), left()};
  end.notes = {left()};
  EXPECT_EQ(written("format=events-csv", {counts_at(0), second}, end),
            "timestamp,event,name,direction,id,class,model,seconds,now\n"
            "0,crossed,\"gate, south\",in,3,person,street,,\n"
            "40000000,left,queue,,8,,,1.25,2\n"
            "40000000,left,queue,,8,,,1.25,2\n");
  EXPECT_EQ(written("format=events-jsonl source=door", {counts_at(0), second}, end),
            R"({"source":"door","timestamp":0,"event":"crossed","name":"gate, south",)"
            R"("direction":"in","id":3,"label":"person","model":{"name":"street"}})"
            "\n"
            R"({"source":"door","timestamp":40000000,"event":"left","name":"queue","id":8,)"
            R"("seconds":1.25,"now":2})"
            "\n"
            R"({"source":"door","timestamp":40000000,"event":"left","name":"queue","id":8,)"
            R"("seconds":1.25,"now":2})"
            "\n");
}

TEST(CountFiles, OfOtherFormatsHaveNoEvents) {
  FrameCounts end;
  end.notes = {left()};
  const std::string text = written("format=csv", {counts_at(0)}, end);
  EXPECT_EQ(std::ranges::count(text, '\n'), 2) << text;
}

}  // namespace
}  // namespace keepbox::test::countfiles
