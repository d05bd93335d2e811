// SPDX-License-Identifier: LGPL-2.1-or-later
// boxsink: when files get their names, and failed writes.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "gst/metas/skippedmodels.h"
#include "tests/gst/sink/boxsink.h"

namespace keepbox::test {
namespace {

using nlohmann::json;

/// Returns a frame that its model did not look at.
GstBuffer* skipped(GstBuffer* frame) {
  note_skipped_model(frame, g_quark_from_string("street"));
  return frame;
}

TEST_F(BoxSink, DefaultsSuitFiles) {
  gboolean sync = TRUE, qos = TRUE, last = TRUE;
  g_object_get(element_, "sync", &sync, "qos", &qos, "enable-last-sample", &last, nullptr);
  EXPECT_FALSE(sync || qos || last);
}

TEST_F(BoxSink, OmitsEmptyFramesOnRequest) {
  set("location", path("%d.txt"));
  set("format", "kitti");
  set("write-empty", "false");
  run_three();
  EXPECT_EQ(files_in(folder_), 2u);
}

/// A frame without boxes that the model did not look at has no file, and no other frame its number.
TEST_F(BoxSink, LeavesOutSkippedFramesWithoutBoxes) {
  for (const char* format : {"jsonl", "kitti", "mot"}) {
    const bool kitti = std::string_view(format) == "kitti";
    set("location", path(kitti ? "%d.txt" : std::string("out.") + format));
    set("format", format);
    start();
    push(with_ours(0));
    push(skipped(frame(1)));
    push(skipped(with_ours(2)));
    push(frame(3));
    push(with_ours(4));
    EXPECT_TRUE(end());
    stop();
  }
  std::vector<bool> marks;
  std::vector<size_t> counts;
  std::istringstream lines(read(path("out.jsonl")));
  for (std::string line; std::getline(lines, line);) {
    const json parsed = json::parse(line);
    EXPECT_EQ(parsed["frame"], marks.size());
    marks.push_back(parsed.value("skipped", false));
    counts.push_back(parsed.value("objects", json::array()).size());
  }
  EXPECT_EQ(marks, (std::vector<bool>{false, true, true, false, false}));
  EXPECT_EQ(counts, (std::vector<size_t>{1, 0, 1, 0, 1}));
  EXPECT_FALSE(fs::exists(path("1.txt")));
  EXPECT_EQ(read(path("3.txt")), "") << "looked at, and empty";
  for (const char* there : {"0.txt", "2.txt", "3.txt", "4.txt"})
    EXPECT_TRUE(fs::exists(path(there))) << there;
  const std::string mot = read(path("out.mot"));
  EXPECT_EQ(std::ranges::count(mot, '\n'), 3);
  EXPECT_TRUE(mentions(mot, "\n3,")) << mot;
  EXPECT_TRUE(mentions(mot, "\n5,")) << mot;
}

TEST_F(BoxSink, TakesFramesInAnyMemory) {
  set("location", path("out.csv"));
  set("format", "csv");
  start(kCudaCaps);
  EXPECT_EQ(push(with_ours(0)), GST_FLOW_OK);
  EXPECT_TRUE(end());
  EXPECT_TRUE(mentions(read(path("out.csv")), "0,0,person,0,"));
}

TEST_F(BoxSink, NamesTheFileAtEos) {
  folder_.write("out.json", "an older one");
  set("location", path("out.json"));
  set("format", "coco");
  start();
  push(with_ours(0));
  EXPECT_EQ(read(path("out.json")), "an older one");
  EXPECT_TRUE(fs::exists(path("out.json.part")));
  EXPECT_TRUE(end());
  EXPECT_EQ(json::parse(read(path("out.json"))).size(), 1u);
  EXPECT_EQ(files_in(folder_), 1u);
}

TEST_F(BoxSink, LeavesThePartAtStopWithoutEos) {
  set("location", path("out.json"));
  set("format", "coco");
  start();
  push(with_ours(0));
  stop();
  EXPECT_NE(read(path("out.json.part")), "");
  EXPECT_EQ(files_in(folder_), 1u);
}

/// A camera that cannot be opened must not leave a file each time that it is tried.
TEST_F(BoxSink, LeavesNothingAtStopWithoutFrames) {
  set("location", path("out"));
  for (const char* format : {"coco", "csv", "jsonl"}) {
    set("format", format);
    start();
    EXPECT_TRUE(fs::exists(path("out.part")));
    stop();
    EXPECT_EQ(files_in(folder_), 0u) << format;
  }
}

TEST_F(BoxSink, WritesAWholeFileForNoFrames) {
  set("location", path("out.json"));
  set("format", "coco");
  start();
  EXPECT_TRUE(end());
  stop();
  EXPECT_EQ(read(path("out.json")), "[]\n");
}

TEST_F(BoxSink, StartsANewFileAfterAStop) {
  set("location", path("out.csv"));
  set("format", "csv");
  run_three();
  start();
  push(with_foreign(0));
  end();
  stop();
  EXPECT_EQ(read(path("out.csv")),
            "frame,timestamp,label,class_id,score,x1,y1,x2,y2,tracking_id,model,angle\n"
            "0,0,dog,,0.5,4,5,10,12,,,0\n");
}

TEST_F(BoxSink, ContinuesAfterFlushAndAfterEos) {
  set("location", path("out.json"));
  set("format", "coco");
  start();
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_EQ(push(with_ours(0)), GST_FLOW_OK);
    EXPECT_TRUE(pass == 0 || end());
    gst_harness_push_event(harness_, gst_event_new_flush_start());
    gst_harness_push_event(harness_, gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(harness_, gst_event_new_segment(&segment));
  }
  stop();
  const json results = json::parse(read(path("out.json")));
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[2]["image_id"], 2);
  EXPECT_EQ(files_in(folder_), 1u);
}

TEST_F(BoxSink, FollowsChangesOfSize) {
  set("location", path("out.jsonl"));
  start();
  push(with_ours(0));
  gst_harness_set_src_caps_str(harness_, "video/x-raw,format=GRAY8,width=128,height=96");
  push(with_ours(1));
  EXPECT_TRUE(end());
  stop();
  EXPECT_TRUE(mentions(read(path("out.jsonl")), "{\"width\":128,\"height\":96}"));
}

TEST_F(BoxSink, WarnsOnceWhenNoFrameWasAnalysed) {
  set("location", path("out.jsonl"));
  start();
  push(frame(0));
  push(frame(1));
  EXPECT_TRUE(end());
  stop();
  EXPECT_TRUE(mentions(message(GST_MESSAGE_WARNING), "2 frames"));
  EXPECT_EQ(message(GST_MESSAGE_WARNING), "");
}

TEST_F(BoxSink, AcceptsLabelsThatAreNotUtf8) {
  set("location", path("out.jsonl"));
  start();
  EXPECT_EQ(push(with_foreign(0, "caf\xe9")), GST_FLOW_OK);
  EXPECT_TRUE(end());
  stop();
  EXPECT_TRUE(json::accept(read(path("out.jsonl"))));
}

TEST_F(BoxSink, NeedsAFolder) {
  set("location", path("missing/out.jsonl"));
  EXPECT_FALSE(can_start());
  EXPECT_EQ(message(),
            "There is no folder " + path("missing") + ". Create it, or set another location=.");
  EXPECT_EQ(files_in(folder_), 0u);
}

TEST_F(BoxSink, MakesTheFoldersOfKitti) {
  set("format", "kitti");
  set("location", path("a/b/%06d.txt"));
  run_three();
  EXPECT_TRUE(fs::exists(path("a/b/000002.txt")));
  set("location", path("%d/label.txt"));
  run_three();
  EXPECT_TRUE(fs::exists(path("2/label.txt")));
  folder_.write("file", "");
  set("location", path("file/%d.txt"));
  EXPECT_FALSE(can_start());
  EXPECT_EQ(message(), "Cannot make the folder " + path("file") +
                           ": Not a directory. Set location= to another path.");
}

TEST_F(BoxSink, RefusesAFolderAsFile) {
  set("location", folder_.path());
  EXPECT_FALSE(can_start());
  EXPECT_TRUE(mentions(message(), ": Is a directory."));
  set("location", "");
  EXPECT_FALSE(can_start());
  EXPECT_TRUE(mentions(message(), "location= is not set"));
}

TEST_F(BoxSink, RefusesBadPatterns) {
  set("format", "kitti");
  for (const char* bad : {"-", "labels.txt", "%s", "%d%d", "%6d"}) {
    set("location", bad);
    EXPECT_FALSE(can_start()) << bad;
    EXPECT_EQ(message(), "location=" + std::string(bad) +
                             " does not have one %d or %0Nd and no other %. Set location= to a "
                             "pattern such as labels/%06d.txt.");
  }
}

TEST_F(BoxSink, RefusesBadLists) {
  set("location", path("out.json"));
  set("format", "coco");
  set("image-ids", path("missing"));
  EXPECT_FALSE(can_start());
  EXPECT_TRUE(mentions(message(), "Set image-ids="));
  EXPECT_EQ(files_in(folder_), 0u);
}

TEST_F(BoxSink, StopsAtAFullDisk) {
  set("location", "/dev/full");
  start();
  EXPECT_EQ(push(with_ours(0)), GST_FLOW_ERROR);
  EXPECT_TRUE(mentions(message(), "No space left on device"));
  EXPECT_EQ(push(with_ours(1)), GST_FLOW_ERROR);
  EXPECT_FALSE(end());
  stop();
  EXPECT_EQ(message(), "");  // posted once
  EXPECT_FALSE(fs::exists("/dev/full.part"));
  set("format", "coco");  // which has something to write at the start
  EXPECT_FALSE(can_start());
  EXPECT_TRUE(mentions(message(), "No space left on device"));
}

TEST_F(BoxSink, LeavesThePartAfterAnError) {
  folder_.write("images", "139\n");
  set("location", path("out.json"));
  set("format", "coco");
  set("image-ids", path("images"));
  start();
  EXPECT_EQ(push(with_ours(0)), GST_FLOW_OK);
  EXPECT_EQ(push(with_ours(1)), GST_FLOW_ERROR);
  EXPECT_TRUE(mentions(message(), "more frames than the 1 of image-ids="));
  stop();
  EXPECT_FALSE(fs::exists(path("out.json")));
  EXPECT_TRUE(read(path("out.json.part")).starts_with("[\n{\"image_id\":139"));
}

TEST_F(BoxSink, ReportsFailedRenames) {
  set("location", path("out.jsonl"));
  start();
  push(with_ours(0));
  fs::create_directory(path("out.jsonl"));
  folder_.write("out.jsonl/x", "x");
  EXPECT_FALSE(end());
  const std::string text = message();
  EXPECT_TRUE(mentions(text, "to " + path("out.jsonl"))) << text;
  EXPECT_TRUE(mentions(text, "stays in " + path("out.jsonl.part"))) << text;
  EXPECT_TRUE(fs::exists(path("out.jsonl.part")));
}

TEST_F(BoxSink, OmitsBoxesOutsideTheFrame) {
  set("location", path("out.jsonl"));
  start();
  GstBuffer* buffer = with_foreign(0);
  gst_analytics_relation_meta_add_od_mtd(gst_buffer_get_analytics_relation_meta(buffer),
                                         g_quark_from_string("away"), 64, 0, 6, 7, 0.5f, nullptr);
  EXPECT_EQ(push(buffer), GST_FLOW_OK);
  EXPECT_TRUE(end());
  EXPECT_TRUE(mentions(read(path("out.jsonl")), "dog"));
  EXPECT_FALSE(mentions(read(path("out.jsonl")), "away"));
}

TEST_F(BoxSink, WarnsOnceOfAnUnfinishedFile) {
  const auto expect_kept = [this](const char* format, const char* location, const char* part) {
    set("location", path(location));
    set("format", format);
    start();
    EXPECT_EQ(push(with_foreign(0)), GST_FLOW_OK);
    EXPECT_EQ(push(with_foreign(1)), GST_FLOW_OK);
    EXPECT_TRUE(end());
    EXPECT_TRUE(mentions(message(GST_MESSAGE_WARNING), "which is now " + path(part) + ".1"));
    EXPECT_EQ(message(GST_MESSAGE_WARNING), "");
    EXPECT_EQ(read(path(part) + ".1"), "precious");
    stop();
  };
  for (const char* name : {"out.csv.part", "0.txt.part", "1.txt.part", "dog.txt.part"})
    folder_.write(name, "precious");
  expect_kept("csv", "out.csv", "out.csv.part");
  expect_kept("kitti", "%d.txt", "0.txt.part");
  expect_kept("dota", "%s.txt", "dog.txt.part");
}

TEST_F(BoxSink, RejectsAFileWithAnotherWriter) {
  const int other = open(path("out.csv.part").c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  ASSERT_EQ(write(other, "precious", 8), 8);
  set("location", path("out.csv"));
  EXPECT_FALSE(can_start());
  EXPECT_TRUE(mentions(message(), "Another writer uses"));
  EXPECT_EQ(read(path("out.csv.part")), "precious");
  close(other);
}

TEST_F(BoxSink, ReplacesTheTargetOfALink) {
  folder_.write("real", "old");
  fs::create_symlink("real", path("link"));
  set("location", path("link"));
  set("format", "csv");
  run_three();
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_TRUE(read(path("real")).starts_with("frame,"));
  EXPECT_EQ(files_in(folder_), 2u);
}

}  // namespace
}  // namespace keepbox::test
