// SPDX-License-Identifier: LGPL-2.1-or-later
// boxsink: what is in the file, when it gets its name, and what happens when it cannot be written.
#include <fcntl.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "gst/metas/analytics.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kCaps = "video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1";
constexpr const char* kCudaCaps =
    "video/x-raw(memory:CUDAMemory),format=NV12,width=64,height=48,framerate=25/1";

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

size_t files_in(const test::TempDir& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder.path()), {}));
}

/// A frame whose memory is never to be mapped.
GstBuffer* frame(guint index) {
  GstBuffer* buffer = gst_buffer_new();
  GST_BUFFER_PTS(buffer) = index * 40 * GST_MSECOND;
  return buffer;
}

GstBuffer* with_ours(guint index) {
  GstBuffer* buffer = frame(index);
  const FrameBox boxes[] = {{.box = {1.25f, 2.5f, 33.75f, 40},
                             .score = 0.89016300f,
                             .label = g_quark_from_string("person"),
                             .class_id = 0,
                             .anchor = 99}};
  attach_boxes(buffer, boxes, {.frame = {64, 48}});
  return buffer;
}

/// As a decoder that knows nothing of keepbox leaves it.
GstBuffer* with_foreign(guint index, const char* label = "dog") {
  GstBuffer* buffer = frame(index);
  auto* meta = gst_buffer_add_analytics_relation_meta(buffer);
  gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string(label), 4, 5, 6, 7, 0.5f,
                                         nullptr);
  return buffer;
}

class BoxSink : public testing::Test {
 protected:
  BoxSink() {
    element_ = gst_element_factory_make("boxsink", nullptr);
    gst_object_ref_sink(element_);
    bus_ = gst_bus_new();
    gst_element_set_bus(element_, bus_);
  }
  ~BoxSink() override {
    stop();
    gst_element_set_bus(element_, nullptr);  // messages on it hold the element
    gst_object_unref(element_);
    gst_object_unref(bus_);
  }

  void set(const char* property, const std::string& value) {
    gst_util_set_object_arg(G_OBJECT(element_), property, value.c_str());
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  bool can_start() {
    while (!message().empty()) {}  // GStreamer adds one of its own to each failed start
    const auto change = gst_element_set_state(element_, GST_STATE_PAUSED);
    gst_element_set_state(element_, GST_STATE_NULL);
    return change != GST_STATE_CHANGE_FAILURE;
  }
  void start(const char* caps = kCaps) {
    harness_ = gst_harness_new_with_element(element_, "sink", nullptr);
    gst_harness_set_src_caps_str(harness_, caps);
  }
  GstFlowReturn push(GstBuffer* buffer) { return gst_harness_push(harness_, buffer); }
  bool end() { return gst_harness_push_event(harness_, gst_event_new_eos()); }
  void stop() {
    if (harness_ != nullptr) gst_harness_teardown(harness_);
    harness_ = nullptr;
    gst_element_set_state(element_, GST_STATE_NULL);
  }
  /// The text of the first message of that type, empty if there is none.
  std::string message(GstMessageType type = GST_MESSAGE_ERROR) {
    g_autoptr(GstMessage) found = gst_bus_pop_filtered(bus_, type);
    if (found == nullptr) return {};
    g_autoptr(GError) error = nullptr;
    if (type == GST_MESSAGE_ERROR) gst_message_parse_error(found, &error, nullptr);
    else gst_message_parse_warning(found, &error, nullptr);
    return error->message;
  }
  /// One frame of ours, one foreign, one without boxes, then EOS.
  void run_three() {
    start();
    EXPECT_EQ(push(with_ours(0)), GST_FLOW_OK);
    EXPECT_EQ(push(with_foreign(1)), GST_FLOW_OK);
    EXPECT_EQ(push(frame(2)), GST_FLOW_OK);
    EXPECT_TRUE(end());
    stop();
    EXPECT_EQ(message(), "");
  }

  test::TempDir folder_;
  GstElement* element_ = nullptr;
  GstBus* bus_ = nullptr;
  GstHarness* harness_ = nullptr;
};

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST_F(BoxSink, DefaultsSuitFiles) {
  gboolean sync = TRUE, qos = TRUE, last = TRUE;
  g_object_get(element_, "sync", &sync, "qos", &qos, "enable-last-sample", &last, nullptr);
  EXPECT_FALSE(sync || qos || last);
}

TEST_F(BoxSink, WritesJsonLines) {
  set("location", path("out.jsonl"));
  set("source", "door");
  run_three();
  std::istringstream lines(read(path("out.jsonl")));
  std::vector<json> frames;
  for (std::string line; std::getline(lines, line);) frames.push_back(json::parse(line));
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0]["resolution"], (json{{"width", 64}, {"height", 48}}));
  EXPECT_EQ(frames[0]["objects"][0]["x"], 1.25);
  EXPECT_EQ(frames[0]["objects"][0]["w"], 32.5);
  EXPECT_EQ(frames[0]["objects"][0]["anchor"], 99);
  EXPECT_EQ(frames[0]["objects"][0]["detection"]["confidence"].dump(), "0.890163");
  EXPECT_EQ(frames[1]["objects"][0]["detection"]["label"], "dog");
  EXPECT_FALSE(frames[1]["objects"][0]["detection"].contains("label_id"));
  EXPECT_EQ(frames[1]["timestamp"], 40000000);
  EXPECT_EQ(frames[2]["frame"], 2);
  EXPECT_EQ(frames[2]["source"], "door");
  EXPECT_FALSE(frames[2].contains("objects"));  // as gvametaconvert
}

TEST_F(BoxSink, WritesCoco) {
  folder_.write("images", "139\n285\n632\n");
  set("location", path("out.json"));
  set("format", "coco");
  set("image-ids", path("images"));
  run_three();
  const json results = json::parse(read(path("out.json")));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0]["image_id"], 139);
  EXPECT_EQ(results[0]["category_id"], 1);
  EXPECT_EQ(results[1], (json{{"image_id", 285},
                              {"category_id", 18},
                              {"bbox", {4, 5, 6, 7}},
                              {"score", 0.5}}));
}

TEST_F(BoxSink, WritesMot) {
  set("location", path("det.txt"));
  set("format", "mot");
  run_three();
  EXPECT_EQ(read(path("det.txt")),
            "1,-1,1.25,2.5,32.5,37.5,0.890163,-1,-1,-1\n2,-1,4,5,6,7,0.5,-1,-1,-1\n");
}

TEST_F(BoxSink, WritesCsv) {
  set("location", path("out.csv"));
  set("format", "csv");
  set("first-frame", "100");
  run_three();
  EXPECT_EQ(read(path("out.csv")),
            "frame,timestamp,label,class_id,score,x1,y1,x2,y2,tracking_id,model\n"
            "100,0,person,0,0.890163,1.25,2.5,33.75,40,,\n"
            "101,40000000,dog,,0.5,4,5,10,12,,\n");
}

TEST_F(BoxSink, WritesOneFileAFrameOfKitti) {
  set("location", path("%06d.txt"));
  set("format", "kitti");
  run_three();
  EXPECT_EQ(files_in(folder_), 3u);
  EXPECT_EQ(read(path("000000.txt")),
            "person -1 -1 -10 1.25 2.5 33.75 40 -1 -1 -1 -1000 -1000 -1000 -10 0.890163\n");
  EXPECT_EQ(read(path("000002.txt")), "");
}

TEST_F(BoxSink, LeavesOutEmptyFramesOnRequest) {
  set("location", path("%d.txt"));
  set("format", "kitti");
  set("write-empty", "false");
  run_three();
  EXPECT_EQ(files_in(folder_), 2u);
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

TEST_F(BoxSink, WritesAWholeFileForNoFrames) {
  set("location", path("out.json"));
  set("format", "coco");
  start();
  EXPECT_TRUE(end());
  stop();
  EXPECT_EQ(read(path("out.json")), "[]\n");
}

TEST_F(BoxSink, BeginsAnewAfterAStop) {
  set("location", path("out.csv"));
  set("format", "csv");
  run_three();
  start();
  push(with_foreign(0));
  end();
  stop();
  EXPECT_EQ(read(path("out.csv")),
            "frame,timestamp,label,class_id,score,x1,y1,x2,y2,tracking_id,model\n"
            "0,0,dog,,0.5,4,5,10,12,,\n");
}

TEST_F(BoxSink, GoesOnAfterFlushAndAfterEos) {
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
  EXPECT_TRUE(mentions(message(GST_MESSAGE_WARNING), "none among 2"));
  EXPECT_EQ(message(GST_MESSAGE_WARNING), "");
}

TEST_F(BoxSink, TakesLabelsThatAreNotUtf8) {
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
  EXPECT_EQ(message(), "expected the folder " + path("missing") +
                           ", found none: make it, or set another location=");
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
  EXPECT_EQ(message(), "expected a folder " + path("file") +
                           " that can be written to, found Not a directory: set location= to "
                           "another path");
}

TEST_F(BoxSink, RefusesAFolderAsFile) {
  set("location", folder_.path());
  EXPECT_FALSE(can_start());
  EXPECT_TRUE(mentions(message(), "found Is a directory"));
  set("location", "");
  EXPECT_FALSE(can_start());
  EXPECT_TRUE(mentions(message(), "set location="));
}

TEST_F(BoxSink, RefusesBadPatterns) {
  set("format", "kitti");
  for (const char* bad : {"-", "labels.txt", "%s", "%d%d", "%6d"}) {
    set("location", bad);
    EXPECT_FALSE(can_start()) << bad;
    EXPECT_EQ(message(), "expected one %d or %0Nd in the location, and no other %, found \"" +
                             std::string(bad) +
                             "\": set location= to a name with the frame's number, as "
                             "labels/%06d.txt");
  }
}

TEST_F(BoxSink, RefusesBadLists) {
  set("location", path("out.json"));
  set("format", "coco");
  set("image-ids", path("missing"));
  EXPECT_FALSE(can_start());
  EXPECT_TRUE(mentions(message(), "set image-ids="));
  EXPECT_EQ(files_in(folder_), 0u);
}

TEST_F(BoxSink, StopsAtAFullDisk) {
  set("location", "/dev/full");
  start();
  EXPECT_EQ(push(with_ours(0)), GST_FLOW_ERROR);
  EXPECT_TRUE(mentions(message(), "found No space left on device"));
  EXPECT_EQ(push(with_ours(1)), GST_FLOW_ERROR);
  EXPECT_FALSE(end());
  stop();
  EXPECT_EQ(message(), "");  // said once
  EXPECT_FALSE(fs::exists("/dev/full.part"));
  set("format", "coco");  // which has something to write at the start
  EXPECT_FALSE(can_start());
  EXPECT_TRUE(mentions(message(), "found No space left on device"));
}

TEST_F(BoxSink, LeavesThePartAfterAnError) {
  folder_.write("images", "139\n");
  set("location", path("out.json"));
  set("format", "coco");
  set("image-ids", path("images"));
  start();
  EXPECT_EQ(push(with_ours(0)), GST_FLOW_OK);
  EXPECT_EQ(push(with_ours(1)), GST_FLOW_ERROR);
  EXPECT_TRUE(mentions(message(), "expected at most 1 frames"));
  stop();
  EXPECT_FALSE(fs::exists(path("out.json")));
  EXPECT_TRUE(read(path("out.json.part")).starts_with("[\n{\"image_id\":139"));
}

TEST_F(BoxSink, SaysSoWhenTheFileCannotBeNamed) {
  set("location", path("out.jsonl"));
  start();
  push(with_ours(0));
  fs::create_directory(path("out.jsonl"));
  folder_.write("out.jsonl/x", "x");
  EXPECT_FALSE(end());
  const std::string text = message();
  EXPECT_TRUE(mentions(text, "renamed to " + path("out.jsonl"))) << text;
  EXPECT_TRUE(mentions(text, "stays in " + path("out.jsonl.part"))) << text;
  EXPECT_TRUE(fs::exists(path("out.jsonl.part")));
}

TEST_F(BoxSink, RefusesAFileThatAnotherWrites) {
  const int other = open(path("out.csv.part").c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  ASSERT_EQ(write(other, "precious", 8), 8);
  set("location", path("out.csv"));
  EXPECT_FALSE(can_start());
  EXPECT_TRUE(mentions(message(), "expected no other writer of"));
  EXPECT_EQ(read(path("out.csv.part")), "precious");
  close(other);
}

TEST_F(BoxSink, ReplacesWhatALinkPointsTo) {
  folder_.write("real", "old");
  fs::create_symlink("real", path("link"));
  set("location", path("link"));
  set("format", "csv");
  run_three();
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_TRUE(read(path("real")).starts_with("frame,"));
  EXPECT_EQ(files_in(folder_), 2u);
}

TEST_F(BoxSink, WritesIntoAFifo) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  std::string seen;
  std::thread reader([&] { seen = read(path("fifo")); });
  set("location", path("fifo"));
  set("format", "mot");
  run_three();
  reader.join();
  EXPECT_TRUE(seen.starts_with("1,-1,1.25,2.5")) << seen;
  EXPECT_EQ(files_in(folder_), 1u);
}

/// The timestamps that a frame with that PTS gets in a stream of that segment.
class BoxSinkTimes : public BoxSink {
 protected:
  void begin() {
    set("location", path("out.jsonl"));
    start();
  }
  void segment(const GstSegment& segment) {
    EXPECT_TRUE(gst_harness_push_event(harness_, gst_event_new_segment(&segment)));
  }
  void push_at(GstClockTime pts) {
    GstBuffer* buffer = with_ours(0);
    GST_BUFFER_PTS(buffer) = pts;
    GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
    EXPECT_EQ(push(buffer), GST_FLOW_OK);
  }
  /// Of all frames, in ms; -1 where there is none.
  std::vector<int64_t> times() {
    EXPECT_TRUE(end());
    stop();
    std::istringstream lines(read(path("out.jsonl")));
    std::vector<int64_t> out;
    for (std::string line; std::getline(lines, line);) {
      const json frame = json::parse(line);
      out.push_back(frame.contains("timestamp") ? frame["timestamp"].get<int64_t>() / 1000000 : -1);
    }
    return out;
  }
  static GstSegment from(GstClockTime start, GstClockTime time) {
    GstSegment out;
    gst_segment_init(&out, GST_FORMAT_TIME);
    out.start = out.position = start;
    out.time = time;
    return out;
  }
};

TEST_F(BoxSinkTimes, AreStreamTime) {
  begin();
  segment(from(GST_SECOND * 3600, 0));  // as sources of RTP and MPEG-TS count
  push_at(GST_SECOND * 3600);
  push_at(GST_SECOND * 3600 + 40 * GST_MSECOND);
  segment(from(GST_SECOND * 5, GST_SECOND * 90));  // after a seek to 90 s
  push_at(GST_SECOND * 6);
  EXPECT_EQ(times(), (std::vector<int64_t>{0, 40, 91000}));
}

TEST_F(BoxSinkTimes, CountAlsoBeforeTheSegment) {
  begin();
  segment(from(GST_SECOND, GST_SECOND));
  push_at(980 * GST_MSECOND);  // shown from 1 s on
  EXPECT_EQ(times(), std::vector<int64_t>{980});
}

TEST_F(BoxSinkTimes, FollowRates) {
  begin();
  GstSegment fast = from(GST_SECOND * 10, GST_SECOND * 10);
  fast.rate = 2;  // shown faster: no other time in the stream
  segment(fast);
  push_at(GST_SECOND * 11);
  fast.rate = 1;
  fast.applied_rate = 2;  // by the source, which left frames out
  segment(fast);
  push_at(GST_SECOND * 11);
  GstSegment back = from(0, 0);
  back.rate = -1;
  back.stop = back.position = GST_SECOND * 20;
  segment(back);
  push_at(GST_SECOND * 15);
  push_at(GST_SECOND * 14);
  EXPECT_EQ(times(), (std::vector<int64_t>{11000, 12000, 15000, 14000}));
}

TEST_F(BoxSinkTimes, AreLeftOutWhereThereAreNone) {
  begin();
  push_at(GST_CLOCK_TIME_NONE);
  GstSegment bytes;
  gst_segment_init(&bytes, GST_FORMAT_BYTES);
  segment(bytes);
  push_at(GST_SECOND);
  EXPECT_EQ(times(), (std::vector<int64_t>{-1, -1}));
}

GstBuffer* with_time_code(guint index) {
  GstBuffer* buffer = with_ours(index);
  g_autoptr(GDateTime) day = g_date_time_new_utc(2026, 2, 3, 0, 0, 0);
  gst_buffer_add_video_time_code_meta_full(buffer, 25, 1, day, GST_VIDEO_TIME_CODE_FLAGS_NONE, 10,
                                           20, 30, 5, 0);
  return buffer;
}

TEST_F(BoxSink, WritesTheTimeCodeAsTimeOfDay) {
  set("location", path("out.jsonl"));
  set("timestamp-utc", "true");
  start();
  push(with_time_code(0));
  push(with_ours(1));
  EXPECT_TRUE(end());
  stop();
  const std::string text = read(path("out.jsonl"));
  EXPECT_TRUE(mentions(text, R"("system_timestamp":"2026-02-03T10:20:30.200Z")")) << text;
  EXPECT_FALSE(json::parse(text.substr(text.find('\n'))).contains("system_timestamp"));
}

TEST_F(BoxSink, WritesTheTimeOfDayOnRequest) {
  set("location", path("out.jsonl"));
  set("add-system-timestamp", "true");
  set("timestamp-microseconds", "true");
  start();
  const gint64 before = g_get_real_time();
  push(with_ours(0));
  const gint64 after = g_get_real_time();
  EXPECT_TRUE(end());
  stop();
  const std::string text = json::parse(read(path("out.jsonl")))["system_timestamp"];
  EXPECT_EQ(text.size(), 32u) << text;  // with microseconds and an offset, as +01:00
  g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(text.c_str(), nullptr);
  ASSERT_NE(time, nullptr) << text;
  const gint64 found =
      g_date_time_to_unix(time) * G_USEC_PER_SEC + g_date_time_get_microsecond(time);
  EXPECT_GE(found, before);
  EXPECT_LE(found, after);
}

TEST_F(BoxSink, WritesTheSendersTime) {
  set("location", path("out.jsonl"));
  set("add-rtp-timestamp", "true");
  start();
  GstBuffer* buffer = with_ours(0);
  g_autoptr(GstCaps) ntp = gst_caps_new_empty_simple("timestamp/x-ntp");
  gst_buffer_add_reference_timestamp_meta(buffer, ntp, (2208988800u + 1700000000ull) * GST_SECOND,
                                          GST_CLOCK_TIME_NONE);
  push(buffer);
  push(with_ours(1));
  EXPECT_TRUE(end());
  stop();
  const std::string text = read(path("out.jsonl"));
  EXPECT_EQ(json::parse(text.substr(0, text.find('\n')))["rtp"]["sender_ntp_unix_timestamp_ns"],
            1700000000000000000);
  EXPECT_FALSE(json::parse(text.substr(text.find('\n'))).contains("rtp"));
}

TEST_F(BoxSink, PutsTheUsersTagsOnEachLine) {
  set("location", path("out.jsonl"));
  g_object_set(element_, "tags", "{ \"lat\": 52.5200066,\n \"place\": {\"floor\": 3} }", nullptr);
  start();
  push(with_ours(0));
  push(frame(1));
  EXPECT_TRUE(end());
  stop();
  std::istringstream lines(read(path("out.jsonl")));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_EQ(json::parse(line)["tags"], (json{{"lat", 52.5200066}, {"place", {{"floor", 3}}}}));
  EXPECT_EQ(count, 2);
}

TEST_F(BoxSink, RefusesTagsThatAreNoObject) {
  set("location", path("out.jsonl"));
  for (const char* bad : {"camera=3", "[1]", "3", "{\"a\":}", "\xff"}) {
    g_object_set(element_, "tags", bad, nullptr);
    EXPECT_FALSE(can_start()) << bad;
    EXPECT_TRUE(mentions(message(), "expected a JSON object in tags=")) << bad;
  }
  EXPECT_EQ(files_in(folder_), 0u);
}

TEST_F(BoxSink, WarnsOnceWhenAModelIsNotCocosAfterAll) {
  set("location", path("out.json"));
  set("format", "coco");
  start();
  for (const char* label : {"person", "cat", "hamster", "person", "ferret"}) push(with_foreign(0, label));
  EXPECT_TRUE(end());
  stop();
  EXPECT_TRUE(mentions(message(GST_MESSAGE_WARNING),
                       "expected the 80 classes of COCO, as before, found the label \"hamster\""));
  EXPECT_EQ(message(GST_MESSAGE_WARNING), "");
  std::vector<int> ids;
  for (const json& each : json::parse(read(path("out.json")))) ids.push_back(each["category_id"]);
  EXPECT_EQ(ids, (std::vector{1, 17, 1001, 1, 1002}));
}

/// What another program's parser reads in files of that format.
json read_back(const std::string& format, const std::vector<std::string>& paths) {
  const std::string script = std::string(g_getenv("KEEPBOX_SOURCE")) + "/tests/gst/read_boxes.py";
  std::vector<const char*> argv{"python3", script.c_str(), format.c_str()};
  for (const std::string& path : paths) argv.push_back(path.c_str());
  argv.push_back(nullptr);
  g_autofree gchar* text = nullptr;
  gint status = 1;
  g_autoptr(GError) error = nullptr;
  if (!g_spawn_sync(nullptr, const_cast<gchar**>(argv.data()), nullptr, G_SPAWN_SEARCH_PATH,
                    nullptr, nullptr, &text, nullptr, &status, &error))
    return error->message;
  return status == 0 ? json::parse(text) : json("exit status " + std::to_string(status));
}

class BoxSinkReaders : public BoxSink, public testing::WithParamInterface<const char*> {
 protected:
  /// Names that formats without quotes cannot hold as they are.
  static constexpr const char* kAwkward = "a \"b\",\u00a0c\n\u2028\u00df";

  bool format_is(const char* name) const { return std::string(GetParam()) == name; }
  void compare(const json& boxes) {
    ASSERT_EQ(boxes.size(), 4u) << boxes;
    const int first = format_is("mot") ? 1 : 0;
    for (size_t i = 0; i < 4; ++i) {
      const bool ours = i % 2 == 0;
      EXPECT_EQ(boxes[i]["frame"], static_cast<int>(i) + first);
      EXPECT_FLOAT_EQ(boxes[i]["score"], ours ? 0.89016300f : 0.5f);
      EXPECT_EQ(boxes[i]["box"],
                ours ? (json{1.25, 2.5, 32.5, 37.5}) : (json{4.0, 5.0, 6.0, 7.0}));
    }
    if (format_is("mot")) return;
    if (format_is("coco")) {
      EXPECT_EQ(boxes[0]["class"], 1);
      EXPECT_EQ(boxes[1]["class"], 18);
      return;
    }
    EXPECT_EQ(boxes[0]["label"], "person");
    EXPECT_EQ(boxes[3]["label"], format_is("kitti") ? "a_\"b\",_c__\u00df" : kAwkward);
  }
};

TEST_P(BoxSinkReaders, ReadWhatWasWritten) {
  if (!fs::exists(fs::path(g_getenv("KEEPBOX_SOURCE")) / "tests/gst/read_boxes.py"))
    GTEST_SKIP() << "no scripts on this machine";
  const std::string name = path(format_is("kitti") ? "%d" : "out");
  set("location", name);
  set("format", GetParam());
  start();
  push(with_ours(0));
  push(with_foreign(1));
  push(with_ours(2));
  push(with_foreign(3, kAwkward));
  EXPECT_TRUE(end());
  stop();
  compare(format_is("kitti") ? read_back("kitti", {path("0"), path("1"), path("2"), path("3")})
                             : read_back(GetParam(), {name}));
}

INSTANTIATE_TEST_SUITE_P(Formats, BoxSinkReaders,
                         testing::Values("jsonl", "coco", "mot", "kitti", "csv"),
                         [](const auto& format) { return std::string(format.param); });

}  // namespace
}  // namespace keepbox
