// SPDX-License-Identifier: LGPL-2.1-or-later
// boxsink: contents of the files, checked here and with parsers of other projects.
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "gst/metas/boxes.h"
#include "tests/gst/sink/boxsink.h"
#include "tests/masks.h"

namespace keepbox::test {
namespace {

using nlohmann::json;

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

TEST_F(BoxSink, NamesTheSourceOfEachFrame) {
  set("location", path("out.jsonl"));
  start();
  for (const char* name : {"a.jpg", "b.jpg"}) {
    set("source", name);
    EXPECT_EQ(push(frame(0)), GST_FLOW_OK);
  }
  EXPECT_TRUE(end());
  std::istringstream lines(read(path("out.jsonl")));
  for (const char* name : {"a.jpg", "b.jpg"}) {
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(json::parse(line)["source"], name);
  }
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
  EXPECT_EQ(results[0]["category_id"], 0) << "a model that has only a person";
  EXPECT_EQ(results[1],
            (json{{"image_id", 285}, {"category_id", 18}, {"bbox", {4, 5, 6, 7}}, {"score", 0.5}}));
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
            "frame,timestamp,label,class_id,score,x1,y1,x2,y2,tracking_id,model,angle\n"
            "100,0,person,0,0.890163,1.25,2.5,33.75,40,,,0\n"
            "101,40000000,dog,,0.5,4,5,10,12,,,0\n");
}

TEST_F(BoxSink, WritesOneKittiFilePerFrame) {
  set("location", path("%06d.txt"));
  set("format", "kitti");
  run_three();
  EXPECT_EQ(files_in(folder_), 3u);
  EXPECT_EQ(read(path("000000.txt")),
            "person -1 -1 -10 1.25 2.5 33.75 40 -1 -1 -1 -1000 -1000 -1000 -10 0.890163\n");
  EXPECT_EQ(read(path("000002.txt")), "");
}

TEST_F(BoxSink, WritesOneDotaFilePerClass) {
  folder_.write("images", "P0003\nP0004 \nP0007\n");
  set("location", path("results/Task1_%s.txt"));
  set("format", "dota");
  set("image-ids", path("images"));
  run_three();
  EXPECT_EQ(read(path("results/Task1_person.txt")),
            "P0003 0.890163 1.25 2.5 33.75 2.5 33.75 40 1.25 40\n");
  EXPECT_EQ(read(path("results/Task1_dog.txt")), "P0004 0.5 4 5 10 5 10 12 4 12\n");
  EXPECT_FALSE(fs::exists(path("results/Task1_dog.txt.part")));
}

TEST_F(BoxSink, FilesOfClassesAreCompleteAtEosAndContinueAfterIt) {
  set("location", path("%s.txt"));
  set("format", "dota");
  start();
  const auto flush = [&] {
    gst_harness_push_event(harness_, gst_event_new_flush_start());
    gst_harness_push_event(harness_, gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(harness_, gst_event_new_segment(&segment));
  };
  push(with_foreign(0, "a/b"));
  EXPECT_TRUE(fs::exists(path("a_b.txt.part")));
  EXPECT_TRUE(end());
  flush();
  push(with_foreign(1, "a/b"));
  push(with_foreign(2, "c"));
  EXPECT_TRUE(end());
  flush();
  push(with_foreign(3, "c"));
  stop();
  EXPECT_EQ(read(path("a_b.txt.part")), "0 0.5 4 5 10 5 10 12 4 12\n1 0.5 4 5 10 5 10 12 4 12\n");
  EXPECT_EQ(read(path("c.txt.part")), "2 0.5 4 5 10 5 10 12 4 12\n3 0.5 4 5 10 5 10 12 4 12\n");
}

TEST_F(BoxSink, RejectsInvalidPatternsAndListsOfNames) {
  set("format", "dota");
  for (const char* bad : {"-", "out.txt", "%d.txt", "%s%s", "%", "%s%d%d"}) {
    set("location", bad);
    EXPECT_FALSE(can_start()) << bad;
    EXPECT_EQ(message(), std::string("location=") + bad +
                             " must have one %s for the class, and may otherwise only have "
                             "conversions of a time, such as %Y, and at most one number, such as "
                             "%05d. Set location= to a pattern such as Task1_%s.txt.");
  }
  set("location", path("%s.txt"));
  set("image-ids", path("images"));
  for (const char* bad : {"", "two words\n", "P1\n\nP2\n"}) {
    folder_.write("images", bad);
    EXPECT_FALSE(can_start()) << bad;
    EXPECT_TRUE(mentions(message(), "image-ids= to a text file with one name per line")) << bad;
  }
}

TEST_F(BoxSink, WritesTheUsersTagsOnEachLine) {
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

TEST_F(BoxSink, RejectsTagsThatAreNotAnObject) {
  set("location", path("out.jsonl"));
  for (const char* bad : {"camera=3", "[1]", "3", "{\"a\":}", "\xff"}) {
    g_object_set(element_, "tags", bad, nullptr);
    EXPECT_FALSE(can_start()) << bad;
    EXPECT_TRUE(mentions(message(), "is not a JSON object")) << bad;
  }
  EXPECT_EQ(files_in(folder_), 0u);
}

TEST_F(BoxSink, WarnsOnceIfLabelsAreCocosInPart) {
  set("location", path("out.json"));
  set("format", "coco");
  start();
  for (const char* label : {"person", "cat", "hamster", "person", "ferret"})
    push(with_foreign(0, label));
  EXPECT_TRUE(end());
  stop();
  EXPECT_TRUE(mentions(message(GST_MESSAGE_WARNING),
                       "Some labels are COCO's and others are not, such as \"hamster\""));
  EXPECT_EQ(message(GST_MESSAGE_WARNING), "");
  std::vector<int> ids;
  for (const json& each : json::parse(read(path("out.json")))) ids.push_back(each["category_id"]);
  EXPECT_EQ(ids, (std::vector{1, 17, 1001, 1, 1002}));
}

/// Returns what another project's parser reads from files of that format.
json read_back(const std::string& format, const std::vector<std::string>& paths) {
  const std::string script =
      std::string(g_getenv("KEEPBOX_SOURCE")) + "/tests/gst/sink/read_boxes.py";
  std::vector<const char*> argv{"python3", script.c_str(), format.c_str()};
  for (const std::string& path : paths) argv.push_back(path.c_str());
  argv.push_back(nullptr);
  g_autofree gchar* text = nullptr;
  g_autofree gchar* messages = nullptr;
  gint status = 1;
  g_autoptr(GError) error = nullptr;
  if (!g_spawn_sync(nullptr, const_cast<gchar**>(argv.data()), nullptr, G_SPAWN_SEARCH_PATH,
                    nullptr, nullptr, &text, &messages, &status, &error))
    return error->message;
  if (status == 0) return json::parse(text);
  ADD_FAILURE() << script << " " << format << " ended with wait status " << status << ":\n"
                << messages;
  return {};
}

class BoxSinkReaders : public BoxSink, public testing::WithParamInterface<const char*> {
 protected:
  /// Names that formats without quoting cannot contain unchanged.
  static constexpr const char* kAwkward = "a \"b\",\u00a0c\n\u2028\u00df";

  bool format_is(const char* name) const { return std::string(GetParam()) == name; }
  void compare(const json& boxes) {
    ASSERT_EQ(boxes.size(), 4u) << boxes;
    const int first = format_is("mot") ? 1 : 0;
    for (size_t i = 0; i < 4; ++i) {
      const bool ours = i % 2 == 0;
      EXPECT_EQ(boxes[i]["frame"], static_cast<int>(i) + first);
      EXPECT_FLOAT_EQ(boxes[i]["score"], ours ? 0.89016300f : 0.5f);
      EXPECT_EQ(boxes[i]["box"], ours ? (json{1.25, 2.5, 32.5, 37.5}) : (json{4.0, 5.0, 6.0, 7.0}));
    }
    if (format_is("mot")) return;
    if (format_is("coco")) {
      EXPECT_EQ(boxes[0]["class"], 0) << "its model has not all names of COCO";
      EXPECT_EQ(boxes[1]["class"], 18);
      return;
    }
    EXPECT_EQ(boxes[0]["label"], "person");
    const bool words = format_is("kitti") || format_is("dota");
    EXPECT_EQ(boxes[3]["label"], words ? "a_\"b\",_c__\u00df" : kAwkward);
  }
};

/// Makes a frame of 64x48 with a pose, a mask and an oriented box.
GstBuffer* with_parts(const TestMask& mask) {
  static constexpr Keypoint kPoints[] = {{10.5f, 20, 0.75f}, {-3, 40.25f, 0.5f}};
  FrameBox boxes[3];
  for (FrameBox& box : boxes)
    box = {.box = {10, 20, 40, 40},
           .score = 0.5f,
           .label = g_quark_from_string("dog"),
           .class_id = 16,
           .anchor = 9};
  boxes[0].keypoints = {.points = kPoints};
  boxes[1].mask = mask.over({10, 20, 40, 40});
  boxes[2].angle = 0.6435011f;  // its cosine is 0.8
  GstBuffer* buffer = frame(0);
  EXPECT_TRUE(attach_boxes(buffer, boxes, {.frame = {64, 48}}));
  return buffer;
}

bool can_read_back() {
  const gchar* source = g_getenv("KEEPBOX_SOURCE");
  return source != nullptr && fs::exists(fs::path(source) / "tests/gst/sink/read_boxes.py");
}

TEST_F(BoxSink, ParsersFindPointsMasksAndCorners) {
  if (!can_read_back()) GTEST_SKIP() << "no scripts on this machine";
  const TestMask mask(3, 2, [](guint x, guint y) { return x == 1 || (x == 0 && y == 1); });
  for (const std::string format : {"coco", "jsonl", "dota"}) {
    set("format", format);
    set("location", path(format == "dota" ? "%s.txt" : format));
    start();
    push(with_parts(mask));
    EXPECT_TRUE(end());
    stop();
  }
  const json coco = read_back("coco", {path("coco")});
  EXPECT_EQ(coco[0]["points"], (json{10.5, 20.0, 0.75, -3.0, 40.25, 0.5}));
  EXPECT_EQ(coco[1]["mask"]["size"], (json{48, 64}));
  const json& rows = coco[1]["mask"]["rows"];
  const auto row = [](size_t first, size_t last) {
    return std::string(first, '.') + std::string(last - first, '#') + std::string(64 - last, '.');
  };
  EXPECT_EQ(rows[19], row(0, 0));
  EXPECT_EQ(rows[20], row(20, 30)) << "tenfold";
  EXPECT_EQ(rows[39], row(10, 30));
  EXPECT_EQ(rows[40], row(0, 0));
  EXPECT_NEAR(coco[2]["box"][0].get<double>(), 7, 1e-3);
  const json lines = read_back("jsonl", {path("jsonl")});
  EXPECT_EQ(lines[0]["points"], (json{{10.5, 20.0, 0.75}, {-3.0, 40.25, 0.5}}));
  EXPECT_EQ(lines[1]["mask"],
            (json{{"place", {10.0, 20.0, 30.0, 20.0}}, {"rows", {".#.", "##."}}}));
}

TEST_P(BoxSinkReaders, ReadWhatWasWritten) {
  if (!can_read_back()) GTEST_SKIP() << "no scripts on this machine";
  const std::string name = path(format_is("kitti") ? "%d" : format_is("dota") ? "%s" : "out");
  set("location", name);
  set("format", GetParam());
  start();
  push(with_ours(0));
  push(with_foreign(1));
  push(with_ours(2));
  push(with_foreign(3, kAwkward));
  EXPECT_TRUE(end());
  stop();
  std::vector<std::string> files{name};
  if (format_is("kitti")) files = {path("0"), path("1"), path("2"), path("3")};
  if (format_is("dota")) files = {path("person"), path("dog"), path("a_\"b\",_c__\u00df")};
  compare(read_back(GetParam(), files));
}

INSTANTIATE_TEST_SUITE_P(Formats, BoxSinkReaders,
                         testing::Values("jsonl", "coco", "mot", "kitti", "csv", "dota"),
                         [](const auto& format) { return std::string(format.param); });

}  // namespace
}  // namespace keepbox::test
