// SPDX-License-Identifier: LGPL-2.1-or-later
// Exact text of each format.
#include "gst/sink/writer.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/base/text.h"
#include "gst/base/outfile.h"
#include "tests/unit/sink/boxtext.h"

namespace keepbox {
namespace {

using namespace test;

TEST(Jsonl, OneLineInTheSchemaOfGvametaconvert) {
  FrameInfo frame = kFrame;
  frame.source = "cam \"1\"";
  EXPECT_EQ(text_of(BoxFormat::kJsonl, {person()}, {}, frame),
            R"({"resolution":{"width":640,"height":480},"source":"cam \"1\"",)"
            R"("timestamp":40000000,"frame":7,"objects":[)"
            R"({"x":64.5,"y":48.0,"w":255.75,"h":192.0,"region_id":3,"roi_type":"person",)"
            R"("detection":{"bounding_box":{"x_min":0.10078125,"x_max":0.50039065,)"
            R"("y_min":0.1,"y_max":0.5},"confidence":0.890163,"label_id":0,"label":"person"},)"
            R"("anchor":8123}]})"
            "\n");
}

TEST(Jsonl, OmitsUnknownFields) {
  FrameBox box = foreign("");
  box.label = 0;
  BoxWriter writer(BoxFormat::kJsonl, {});
  const std::vector boxes{box};
  EXPECT_EQ(text_of(writer, boxes, {.number = 0, .size = {100, 100}}),
            R"({"resolution":{"width":100,"height":100},"frame":0,"objects":[)"
            R"({"x":10.0,"y":20.0,"w":20.0,"h":40.0,"region_id":4,)"
            R"("detection":{"bounding_box":{"x_min":0.1,"x_max":0.3,"y_min":0.2,"y_max":0.6},)"
            R"("confidence":0.1}}]})"
            "\n");
}

TEST(Jsonl, HasTrackAndRotation) {
  FrameBox box = foreign("ship");
  box.tracking_id = std::numeric_limits<guint64>::max();
  box.angle = 0.3f;
  const std::string text = text_of(BoxFormat::kJsonl, {box});
  EXPECT_NE(text.find(R"("region_id":4,"id":18446744073709551615,"roi_type":"ship")"), text.npos);
  EXPECT_TRUE(text.ends_with("},\"rotation\":0.3}]}\n")) << text;
}

TEST(Jsonl, HasTheParentOfParts) {
  FrameBox box = foreign("plate");
  box.parent = 2;
  EXPECT_NE(text_of(BoxFormat::kJsonl, {box}).find(R"("region_id":4,"parent_id":2,)"),
            std::string::npos);
}

TEST(Jsonl, HasValuesByTheNameOfTheirKind) {
  constexpr float kThree[] = {0.1f, -2, 3.5f};
  FrameBox box = foreign("ship");
  box.values = {kThree, g_quark_from_string("embedding")};
  const std::string text = text_of(BoxFormat::kJsonl, {box});
  EXPECT_TRUE(text.ends_with("},\"embedding\":[0.1,-2.0,3.5]}]}\n")) << text;
}

TEST(Jsonl, WritesEmptyFramesByDefault) {
  EXPECT_EQ(text_of(BoxFormat::kJsonl, {}),
            R"({"resolution":{"width":640,"height":480},"timestamp":40000000,"frame":7})"
            "\n");
  EXPECT_EQ(text_of(BoxFormat::kJsonl, {}, {.write_empty = false}), "");
}

TEST(Jsonl, ReplacesBytesThatAreNotUtf8) {
  FrameInfo frame = kFrame;
  frame.source = "\xff\xfe";
  const std::string text = text_of(BoxFormat::kJsonl, {foreign("caf\xe9")}, {}, frame);
  EXPECT_NE(text.find("\"label\":\"caf\xef\xbf\xbd\""), text.npos) << text;
  EXPECT_TRUE(g_utf8_validate(text.c_str(), -1, nullptr));
  EXPECT_NE(text_of(BoxFormat::kJsonl, {foreign("Fu\xc3\x9fg\xc3\xa4nger")})
                .find("Fu\xc3\x9fg\xc3\xa4nger"),
            text.npos);
}

TEST(NumberText, IsTheShortestThatReadsBackAsTheSameFloat) {
  for (const auto& [value, digits] :
       std::vector<std::pair<float, std::string>>{{0.89016300f, "0.890163"},
                                                  {0.1f, "0.1"},
                                                  {1 / 3.f, "0.33333334"},
                                                  {8191.9995f, "8191.9995"},
                                                  {0.30000001f, "0.3"},
                                                  {1e-5f, "1e-05"}}) {
    FrameBox box = foreign("a");
    box.score = value;
    const std::string csv = text_of(BoxFormat::kCsv, {box});
    EXPECT_EQ(csv, "7,40000000,a,," + digits + ",10,20,30,60,,,0\n");
    const std::string coco = text_of(BoxFormat::kCoco, {box});
    EXPECT_NE(coco.find("\"score\":" + digits), coco.npos) << coco;
  }
}

TEST(Csv, QuotesLabelsWithQuotes) {
  for (const auto& [label, field] : std::vector<std::pair<const char*, const char*>>{
           {"\"a\"", "\"\"\"a\"\"\""}, {"a,b", "\"a,b\""}, {"a\"b", "\"a\"\"b\""}}) {
    const std::string csv = text_of(BoxFormat::kCsv, {foreign(label)});
    EXPECT_TRUE(csv.starts_with(std::string("7,40000000,") + field + ",")) << csv;
  }
}

TEST(Coco, IsOneArray) {
  BoxWriter writer(BoxFormat::kCoco, {});
  EXPECT_EQ(std::string(writer.head()) + std::string(writer.tail()), "[]\n");
  std::string text(writer.head());
  const std::vector one{person()}, two{person(), person()};
  ASSERT_TRUE(writer.write({.number = 0, .size = {640, 480}}, {}, text));
  ASSERT_TRUE(writer.write({.number = 1, .size = {640, 480}}, one, text));
  ASSERT_TRUE(writer.write({.number = 2, .size = {640, 480}}, two, text));
  text += writer.tail();
  const std::string rest = R"("category_id":0,"bbox":[64.5,48.0,255.75,192.0],"score":0.890163})";
  EXPECT_EQ(text, "[\n{\"image_id\":1," + rest + ",\n{\"image_id\":2," + rest +
                      ",\n{\"image_id\":2," + rest + "\n]\n");
}

TEST(Coco, UsesIdsFromLists) {
  BoxWriter writer(BoxFormat::kCoco,
                   {.images = {{139, ""}}, .categories = {{1, "person"}, {18, "dog"}}});
  const std::vector boxes{person(), foreign("dog")};
  const std::string text = text_of(writer, boxes);
  EXPECT_NE(text.find(R"("image_id":139,"category_id":1,)"), text.npos);
  EXPECT_NE(text.find(R"("image_id":139,"category_id":18,)"), text.npos);
  EXPECT_TRUE(writer.take_messages().odd.empty());
  EXPECT_EQ(text_of(writer, {}),
            "There are more frames than the 1 of image-ids=. Add a line per frame to the file of "
            "image-ids=.");
}

TEST(Coco, RejectsIdsMissingFromTheLists) {
  FrameBox beyond = person();
  beyond.class_id = 2;
  const WriterOptions options{.categories = {{1, ""}, {18, "dog"}}};
  EXPECT_EQ(text_of(BoxFormat::kCoco, {beyond}, options),
            "category-ids= lists 2 classes, but a box is of class 2. Add a line per class to the "
            "file of category-ids=.");
  EXPECT_EQ(text_of(BoxFormat::kCoco, {foreign("cat")}, options),
            "category-ids= does not list the label \"cat\". Write the label after its number: this "
            "decoder gives no class numbers.");
}

TEST(Coco, NamesTheModel) {
  FrameBox box = person();
  EXPECT_EQ(text_of(BoxFormat::kCoco, {box}).find("model"), std::string::npos);
  box.model = g_quark_from_string("yolo\xff");
  EXPECT_TRUE(text_of(BoxFormat::kCoco, {box}).ends_with(",\"model\":\"yolo\xef\xbf\xbd\"}"));
}

TEST(Jsonl, NamesTheModelAsGvametaconvertDoes) {
  FrameBox box = person();
  box.model = g_quark_from_string("yolo");
  EXPECT_NE(text_of(BoxFormat::kJsonl, {box}).find(R"("label":"person","model":{"name":"yolo"}})"),
            std::string::npos);
}

TEST(Jsonl, MarksBoxesHeldFromAnEarlierFrame) {
  FrameBox box = person();
  EXPECT_EQ(text_of(BoxFormat::kJsonl, {box}).find("held"), std::string::npos);
  box.held = true;
  EXPECT_NE(text_of(BoxFormat::kJsonl, {box}).find(R"("anchor":8123,"held":true)"),
            std::string::npos);
}

TEST(Jsonl, HasTagsAndTimes) {
  BoxWriter writer(BoxFormat::kJsonl, {.tags = R"({"lat":52.5200066,"n":1})"});
  FrameInfo frame = kFrame;
  frame.wall_time = "2026-11-21T10:00:00.000Z";
  frame.sender_time = 1700000000000000000;
  EXPECT_EQ(text_of(writer, {}, frame),
            R"({"tags":{"lat":52.5200066,"n":1},"resolution":{"width":640,"height":480},)"
            R"("timestamp":40000000,"system_timestamp":"2026-11-21T10:00:00.000Z",)"
            R"("rtp":{"sender_ntp_unix_timestamp_ns":1700000000000000000},"frame":7})"
            "\n");
}

TEST(Mot, HasTenColumns) {
  FrameBox tracked = foreign("dog");
  tracked.tracking_id = 12;
  EXPECT_EQ(text_of(BoxFormat::kMot, {person(), tracked}),
            "7,-1,64.5,48,255.75,192,0.890163,-1,-1,-1\n"
            "7,12,10,20,20,40,0.1,-1,-1,-1\n");
  EXPECT_EQ(text_of(BoxFormat::kMot, {}), "");
}

/// Returns the ids in the rows of a frame with objects, each a model and an id.
std::string mot_ids(BoxWriter& writer,
                    std::initializer_list<std::pair<const char*, guint64>> list) {
  std::vector<FrameBox> boxes;
  for (const auto& [model, id] : list) {
    boxes.push_back(person());
    boxes.back().model = g_quark_from_string(model);
    boxes.back().tracking_id = id;
  }
  std::string out;
  const std::string text = text_of(writer, boxes);
  for (const std::string_view row : lines_of(text))
    out += (out.empty() ? "" : " ") + std::string(row.substr(2, row.find(',', 2) - 2));
  return out;
}

TEST(Mot, HasTheIdsOfATrackerOfTwoModels) {
  BoxWriter writer(BoxFormat::kMot, {});
  EXPECT_EQ(mot_ids(writer, {{"a", 1}, {"a", 3}, {"b", 2}}), "1 3 2");
  EXPECT_EQ(mot_ids(writer, {{"b", 5}, {"a", 4}, {"c", 6}}), "5 4 6");
  EXPECT_EQ(mot_ids(writer, {{"a", 1}, {"b", 2}, {"a", 3}, {"b", 7}}), "1 2 3 7");
  EXPECT_TRUE(writer.take_messages().wrong.empty());
}

/// There is no column for the model.
TEST(Mot, HasDifferentIdsOfTwoModels) {
  BoxWriter writer(BoxFormat::kMot, {});
  EXPECT_EQ(mot_ids(writer, {{"a", 1}, {"b", 1}, {"a", 2}}), "1 1000001 2");
  const auto wrong = writer.take_messages().wrong;
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_TRUE(wrong[0].message().contains("\"b\" are raised by 1000000")) << wrong[0].message();
  EXPECT_EQ(mot_ids(writer, {{"b", 1}, {"a", 1}, {"b", 2}, {"b", 3}}), "1000001 1 1000002 1000003");
  EXPECT_TRUE(writer.take_messages().wrong.empty()) << "once";
  // A third one, later than the object of another with its id.
  EXPECT_EQ(mot_ids(writer, {{"c", 1}}), "2000001");
  EXPECT_EQ(writer.take_messages().wrong.size(), 1u);
}

TEST(Mot, KeepsTheIdsOfObjectsBeforeASharedOne) {
  BoxWriter writer(BoxFormat::kMot, {});
  EXPECT_EQ(mot_ids(writer, {{"a", 3}, {"b", 1}}), "3 1");
  EXPECT_EQ(mot_ids(writer, {{"b", 1}, {"b", 2}}), "1 1000002");
  EXPECT_EQ(mot_ids(writer, {{"b", 1}, {"b", 2}, {"a", 3}}), "1 1000002 3");
}

TEST(Mot, HasNoBoxWithoutAnIdAfterATracker) {
  FrameBox tracked = person();
  tracked.tracking_id = 12;
  BoxWriter writer(BoxFormat::kMot, {});
  FrameInfo frame = kFrame;
  frame.tracked = true;
  const std::vector some{foreign("dog"), tracked, foreign("cat")}, none{foreign("dog")};
  EXPECT_EQ(text_of(writer, some, frame), "7,12,64.5,48,255.75,192,0.890163,-1,-1,-1\n");
  EXPECT_EQ(text_of(writer, none, frame), "");
}

TEST(Kitti, HasSixteenColumns) {
  EXPECT_EQ(text_of(BoxFormat::kKitti, {person(), foreign("traffic light\t3")}),
            "person -1 -1 -10 64.5 48 320.25 240 -1 -1 -1 -1000 -1000 -1000 -10 0.890163\n"
            "traffic_light_3 -1 -1 -10 10 20 30 60 -1 -1 -1 -1000 -1000 -1000 -10 0.1\n");
  FrameBox unnamed = person();
  unnamed.label = 0;
  EXPECT_TRUE(text_of(BoxFormat::kKitti, {unnamed}).starts_with("class-0 -1"));
  unnamed.model = g_quark_from_string("two words");
  EXPECT_TRUE(text_of(BoxFormat::kKitti, {unnamed}).starts_with("two_words-class-0 -1"));
  unnamed.class_id.reset();
  EXPECT_TRUE(text_of(BoxFormat::kKitti, {unnamed}).starts_with("unknown -1"));
}

TEST(Kitti, HasNoSpacesInAWord) {
  for (const char* blank : {" ", "\t", "\v", "\f", "\n", "\r", "\x1c", "\u0085", "\u00a0", "\u1680",
                            "\u2003", "\u200b", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"})
    EXPECT_TRUE(text_of(BoxFormat::kKitti, {foreign((std::string("a") + blank + "b").c_str())})
                    .starts_with("a_b -1 -1"))
        << testing::PrintToString(blank);
  EXPECT_TRUE(text_of(BoxFormat::kKitti, {foreign("Fu\u00dfg\u00e4nger")})
                  .starts_with("Fu\u00dfg\u00e4nger -1"));
}

TEST(ClassNames, MissingNamesAreOmittedOrUnknown) {
  FrameBox box = foreign("");
  for (const GQuark none : {GQuark{0}, ~GQuark{0}, box.label}) {
    box.label = box.model = none;
    EXPECT_NE(text_of(BoxFormat::kJsonl, {box}).find("\"confidence\":0.1}"), std::string::npos);
    EXPECT_NE(text_of(BoxFormat::kCoco, {box}).find("\"score\":0.1"), std::string::npos);
    EXPECT_TRUE(text_of(BoxFormat::kKitti, {box}).starts_with("unknown -1"));
    EXPECT_EQ(text_of(BoxFormat::kCsv, {box}), "7,40000000,,,0.1,10,20,30,60,,,0\n");
  }
}

TEST(Csv, QuotesLabels) {
  EXPECT_EQ(BoxWriter(BoxFormat::kCsv, {}).head(),
            "frame,timestamp,label,class_id,score,x1,y1,x2,y2,tracking_id,model,angle\n");
  FrameBox tracked = person();
  tracked.tracking_id = 5;
  tracked.model = g_quark_from_string("a,b");
  EXPECT_EQ(text_of(BoxFormat::kCsv, {tracked, foreign("a, \"b\"\n")}),
            "7,40000000,person,0,0.890163,64.5,48,320.25,240,5,\"a,b\",0\n"
            "7,40000000,\"a, \"\"b\"\"\n\",,0.1,10,20,30,60,,,0\n");
  BoxWriter writer(BoxFormat::kCsv, {});
  const std::vector boxes{foreign("a")};
  EXPECT_EQ(text_of(writer, boxes, {.number = 1, .size = {64, 64}}), "1,,a,,0.1,10,20,30,60,,,0\n");
}

TEST(FilePattern, OfFramesHasExactlyOneNumber) {
  const auto name = [](const char* pattern, int64_t number) {
    return FilePattern::parse(pattern, FileSet::kPerFrame)->name(nullptr, number).before;
  };
  EXPECT_EQ(name("labels/%06d.txt", 42), "labels/000042.txt");
  EXPECT_EQ(name("%d", 42), "42");
  EXPECT_EQ(name("a%02db", 1234), "a1234b");
  for (const char* bad : {"-", "", "labels.txt", "%", "%s", "%6d", "%0d", "%00d", "%019d", "%-3d",
                          "%ld", "%x", "%d%d", "%d-%s", "%%d", "%d%%", "%n%d", "%0", "%06"})
    EXPECT_FALSE(FilePattern::parse(bad, FileSet::kPerFrame)) << bad;
}

}  // namespace
}  // namespace keepbox
