// SPDX-License-Identifier: LGPL-2.1-or-later
// boxsink: files that are finished while the stream runs.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/gst/sink/boxsink.h"

namespace keepbox::test {
namespace {

using nlohmann::json;

class BoxSinkFiles : public BoxSink {
 protected:
  /// Writes frames with a box of another decoder, 40 ms apart.
  void run(guint frames, const char* label = "dog") {
    start();
    for (guint i = 0; i < frames; ++i) EXPECT_EQ(push(with_foreign(i, label)), GST_FLOW_OK);
    EXPECT_TRUE(end());
    EXPECT_EQ(message(), "");
  }
  /// Returns the names of all files, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      out.push_back(entry.path().filename());
    std::ranges::sort(out);
    return out;
  }
  /// Returns the frame numbers in a file of JSON Lines.
  std::vector<int> frames_in(const std::string& name) const {
    std::istringstream lines(read(path(name)));
    std::vector<int> out;
    for (std::string line; std::getline(lines, line);) out.push_back(json::parse(line)["frame"]);
    return out;
  }
  /// Returns the locations of the messages about finished files.
  std::vector<std::string> finished() {
    std::vector<std::string> out;
    while (GstMessage* found = gst_bus_pop_filtered(bus_, GST_MESSAGE_ELEMENT)) {
      const GstStructure* news = gst_message_get_structure(found);
      EXPECT_TRUE(gst_structure_has_name(news, "boxsink-file-finished"));
      out.push_back(fs::path(gst_structure_get_string(news, "location")).filename());
      gst_message_unref(found);
    }
    return out;
  }
};

using Names = std::vector<std::string>;
using Frames = std::vector<int>;

TEST_F(BoxSinkFiles, BeginAfterATime) {
  set("location", path("a-%03d.jsonl"));
  set("max-file-time", "80000000");  // two frames
  start();
  for (guint i = 0; i < 3; ++i) push(with_foreign(i));
  EXPECT_EQ(names(), (Names{"a-000.jsonl", "a-001.jsonl.part"})) << "finished while running";
  EXPECT_EQ(finished(), Names{"a-000.jsonl"});
  for (guint i = 3; i < 5; ++i) push(with_foreign(i));
  EXPECT_TRUE(end());
  EXPECT_EQ(names(), (Names{"a-000.jsonl", "a-001.jsonl", "a-002.jsonl"}));
  EXPECT_EQ(finished(), (Names{"a-001.jsonl", "a-002.jsonl"}));
  EXPECT_EQ(frames_in("a-000.jsonl"), (Frames{0, 1}));
  EXPECT_EQ(frames_in("a-001.jsonl"), (Frames{2, 3}));
  EXPECT_EQ(frames_in("a-002.jsonl"), (Frames{4}));
}

TEST_F(BoxSinkFiles, DoNotExceedASize) {
  set("location", path("%d.jsonl"));
  run(1);
  stop();
  const size_t line = read(path("0.jsonl")).size() + 10;  // later timestamps are longer
  fs::remove(path("0.jsonl"));
  set("max-file-size", std::to_string(3 * line));
  run(7);
  EXPECT_EQ(names(), (Names{"0.jsonl", "1.jsonl", "2.jsonl"}));
  EXPECT_EQ(frames_in("0.jsonl"), (Frames{0, 1, 2}));
  EXPECT_EQ(frames_in("2.jsonl"), (Frames{6}));
  stop();
  set("max-file-size", "1");  // less than a frame
  run(2);
  EXPECT_EQ(names().size(), 5u) << "a file for each frame, next to the earlier ones";
  EXPECT_EQ(frames_in("4.jsonl"), (Frames{1}));
}

TEST_F(BoxSinkFiles, AreArraysOfCocoResults) {
  set("format", "coco");
  set("location", path("%d.json"));
  set("max-file-time", "80000000");
  start();
  push(with_foreign(0, "zebra"));
  push(with_foreign(1, "zebra"));
  push(with_foreign(2, "cup"));
  push(with_foreign(3, "zebra"));
  push(frame(4));
  push(frame(5));
  push(with_foreign(6, "cup"));
  EXPECT_TRUE(end());
  EXPECT_EQ(read(path("2.json")), "[]\n") << "a file without boxes";
  const json first = json::parse(read(path("0.json"))), second = json::parse(read(path("1.json")));
  ASSERT_EQ(first.size(), 2u);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[1]["image_id"], 3) << "images are counted on";
  EXPECT_EQ(second[1]["category_id"], first[0]["category_id"]);
  EXPECT_EQ(json::parse(read(path("3.json"))).size(), 1u);
}

TEST_F(BoxSinkFiles, HaveTheHeaderOfCsvEach) {
  set("format", "csv");
  set("location", path("%d.csv"));
  set("max-file-time", "40000000");
  run(2);
  for (const char* name : {"0.csv", "1.csv"}) {
    const std::string text = read(path(name));
    EXPECT_TRUE(text.starts_with("frame,timestamp,"));
    EXPECT_EQ(std::ranges::count(text, '\n'), 2);
  }
}

TEST_F(BoxSinkFiles, CountFramesOnInMot) {
  set("format", "mot");
  set("location", path("%d.txt"));
  set("max-file-time", "40000000");
  run(2);
  EXPECT_TRUE(read(path("0.txt")).starts_with("1,"));
  EXPECT_TRUE(read(path("1.txt")).starts_with("2,"));
}

TEST_F(BoxSinkFiles, OfAllClassesAreFinishedTogether) {
  set("format", "dota");
  set("location", path("%s-%02d.txt"));
  set("max-file-time", "80000000");
  start();
  push(with_foreign(0, "ship"));
  push(with_foreign(1, "plane"));
  push(with_foreign(2, "ship"));
  EXPECT_EQ(names(), (Names{"plane-00.txt", "ship-00.txt", "ship-01.txt.part"}));
  EXPECT_TRUE(end());
  stop();
  set("max-file-time", "0");
  set("max-file-size", std::to_string(2 * read(path("ship-00.txt")).size()));
  start();
  for (const char* label : {"ship", "plane", "ship", "plane", "ship"}) push(with_foreign(0, label));
  EXPECT_TRUE(end());
  EXPECT_EQ(names(), (Names{"plane-00.txt", "plane-02.txt", "ship-00.txt", "ship-01.txt",
                            "ship-02.txt", "ship-03.txt"}))
      << "the largest file counts";
}

TEST_F(BoxSinkFiles, GetTheTimeOfDayInTheirNames) {
  set("location", path("%Y/%m/boxes-%d.jsonl"));
  set("timestamp-utc", "true");
  g_autoptr(GDateTime) before = g_date_time_new_now_utc();
  run(1);
  g_autoptr(GDateTime) after = g_date_time_new_now_utc();
  bool found = false;
  for (GDateTime* time : {before, after}) {
    g_autofree gchar* name = g_date_time_format(time, "%Y/%m/boxes-%d.jsonl");
    found |= fs::exists(path(name));
  }
  EXPECT_TRUE(found);
  stop();
  run(1);
  fs::recursive_directory_iterator all(folder_.path());
  const auto files = std::ranges::count_if(all, [](const auto& e) { return e.is_regular_file(); });
  EXPECT_EQ(files, 2) << "the second run does not replace the file of the first one";
}

TEST_F(BoxSinkFiles, GoOnAfterEos) {
  set("location", path("%d.jsonl"));
  set("max-file-time", "80000000");
  run(3);
  for (guint i = 3; i < 6; ++i) {
    gst_harness_push_event(harness_, gst_event_new_flush_start());
    gst_harness_push_event(harness_, gst_event_new_flush_stop(FALSE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(harness_, gst_event_new_segment(&segment));
    EXPECT_EQ(push(with_foreign(i)), GST_FLOW_OK);
    EXPECT_TRUE(end());
  }
  EXPECT_EQ(frames_in("0.jsonl"), (Frames{0, 1}));
  EXPECT_EQ(frames_in("1.jsonl"), (Frames{2, 3})) << "continued after the end";
  EXPECT_EQ(frames_in("2.jsonl"), (Frames{4, 5}));
}

TEST_F(BoxSinkFiles, LeaveOnlyTheLastUnfinishedWithoutEos) {
  set("location", path("%d.jsonl"));
  set("max-file-time", "40000000");
  start();
  for (guint i = 0; i < 3; ++i) push(with_foreign(i));
  stop();
  EXPECT_EQ(names(), (Names{"0.jsonl", "1.jsonl", "2.jsonl.part"}));
  start();
  push(with_foreign(0));
  EXPECT_TRUE(end());
  EXPECT_TRUE(mentions(message(GST_MESSAGE_WARNING), "which is now " + path("2.jsonl.part.1")));
  EXPECT_EQ(names(), (Names{"0.jsonl", "1.jsonl", "2.jsonl", "2.jsonl.part.1"}));
}

TEST_F(BoxSinkFiles, NeedNamesThatDiffer) {
  set("max-file-size", "1000");
  for (const char* same : {"-", "boxes.jsonl", "/dev/null", "100%%"}) {
    set("location", same);
    EXPECT_FALSE(can_start()) << same;
    EXPECT_EQ(message(), "max-file-time and max-file-size need a number or a time in location=" +
                             std::string(same) +
                             ". Set location= to a pattern such as boxes-%05d.jsonl or "
                             "boxes-%Y%m%d-%H%M%S.jsonl.");
  }
  set("format", "kitti");
  set("location", path("%06d.txt"));
  EXPECT_FALSE(can_start());
  EXPECT_EQ(
      message(),
      "max-file-time and max-file-size have no effect with format=kitti, whose files have one "
      "frame each. Leave them unset.");
  EXPECT_EQ(names(), Names{});
}

TEST_F(BoxSinkFiles, StopTheStreamIfTheNextOneFails) {
  set("location", path("%d.jsonl"));
  set("max-file-time", "40000000");
  start();
  EXPECT_EQ(push(with_foreign(0)), GST_FLOW_OK);
  fs::create_directory(path("1.jsonl.part"));
  EXPECT_EQ(push(with_foreign(1)), GST_FLOW_ERROR);
  EXPECT_TRUE(mentions(message(), "1.jsonl.part"));
  EXPECT_EQ(names(), (Names{"0.jsonl", "1.jsonl.part"}));
}

}  // namespace
}  // namespace keepbox::test
