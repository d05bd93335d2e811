// SPDX-License-Identifier: LGPL-2.1-or-later
// tensorreplay without frames of its own: rate, duration and size of its black frames, and loops.
#include <filesystem>
#include <optional>
#include <tuple>

#include "tests/gst/recording/numbered.h"
#include "tests/recorded.h"

namespace keepbox {
namespace {

using test::Line;
using test::play;
using test::record;
using test::source;

std::string alone(const std::string& folder, const std::string& settings = "") {
  return "tensorreplay name=replay location=" + folder + " " + settings + " ! fakesink name=out";
}

/// The width, height and frame rate of the caps at a line's end.
using Form = std::tuple<gint, gint, gint, gint>;

Form form_of(Line& line) {
  line.pause();
  g_autoptr(GstElement) out = gst_bin_get_by_name(GST_BIN(line.pipeline()), "out");
  g_autoptr(GstPad) pad = gst_element_get_static_pad(out, "sink");
  g_autoptr(GstCaps) caps = gst_pad_get_current_caps(pad);
  if (caps == nullptr) return {};
  const GstStructure* fields = gst_caps_get_structure(caps, 0);
  Form form;
  auto& [width, height, numerator, denominator] = form;
  gst_structure_get(fields, "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height, nullptr);
  gst_structure_get_fraction(fields, "framerate", &numerator, &denominator);
  return form;
}

TEST(ReplayAlone, HasTheRecordedSizeAndRate) {
  const test::TempDir dir;
  record(source(10, "25/1"), dir / "even");
  Line even(alone(dir / "even"));
  EXPECT_EQ(form_of(even), Form(16, 16, 25, 1));
  const auto later = [](GstClockTime t) { return t + t * t / GST_SECOND; };
  record(source(10, "25/1"), dir / "uneven", test::retime(later));
  Line uneven(alone(dir / "uneven"));
  EXPECT_EQ(form_of(uneven), Form(16, 16, 0, 1));
}

TEST(ReplayAlone, HasADefaultSizeIfTheRecordedOneIsImpossible) {
  const test::TempDir dir;
  dir.write("frames.jsonl", R"({"width":2147483647,"height":2147483647,"tensors":[]})");
  Line line(alone(dir.path().string()));
  EXPECT_EQ(form_of(line), Form(320, 320, 30, 1));
}

/// Returns the duration that a paused line answers.
std::optional<gint64> duration_of(Line& line) {
  line.pause();
  gint64 out = 0;
  if (!gst_element_query_duration(line.pipeline(), GST_FORMAT_TIME, &out)) return {};
  return out;
}

TEST(ReplayAlone, HasADurationUnlessItLoops) {
  const test::TempDir dir;
  record(source(60), dir / "rec");
  Line once(alone(dir / "rec"));
  EXPECT_EQ(duration_of(once), gint64(2 * GST_SECOND));
  Line loop(alone(dir / "rec", "loop=true"));
  EXPECT_EQ(duration_of(loop), std::nullopt);
}

TEST(ReplayAlone, BeginsAndEndsALoopOnRequest) {
  const test::TempDir dir;
  record(source(10), dir / "rec");
  for (const bool loop : {true, false}) {
    Line line(alone(dir / "rec", loop ? "loop=false" : "loop=true"));
    g_autoptr(GstElement) replay = gst_bin_get_by_name(GST_BIN(line.pipeline()), "replay");
    g_autoptr(GstElement) out = gst_bin_get_by_name(GST_BIN(line.pipeline()), "out");
    g_object_set(out, "num-buffers", 35, nullptr);
    line.pause();
    g_object_set(replay, "loop", gboolean{loop}, nullptr);
    EXPECT_EQ(line.play(), "");
    EXPECT_EQ(line.seen().size(), loop ? 35u : 10u);
  }
}

/// The index has times, durations, sizes, ids, types and dimensions.
TEST(ReplayAlone, IsRecordedAsItWas) {
  const test::TempDir dir;
  record(source(10), dir / "rec");
  EXPECT_EQ(play("tensorreplay location=" + (dir / "rec") +
                 " ! tensorrecord location=" + (dir / "copy") + " ! fakesink"),
            "");
  const auto index_in = [&](const char* folder) {
    const auto bytes = test::read_file(dir / (std::string(folder) + "/frames.jsonl"));
    return std::string(bytes.begin(), bytes.end());
  };
  EXPECT_TRUE(index_in("rec").contains("\"duration\":33333333,\"width\":16"));
  EXPECT_EQ(index_in("copy"), index_in("rec"));
}

}  // namespace
}  // namespace keepbox
