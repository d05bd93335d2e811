// SPDX-License-Identifier: LGPL-2.1-or-later
// Python literals, and their use in the metadata of models.
#include "gst/infer/facts/metadata.h"

#include <glib.h>
#include <gtest/gtest.h>

#include <random>

namespace keepbox {
namespace {

using Kind = PyValue::Kind;

/// Returns a value in a canonical form.
std::string shown(const PyValue& value) {
  std::string out;
  switch (value.kind) {
    case Kind::kNone: return "None";
    case Kind::kBool: return value.whole != 0 ? "True" : "False";
    case Kind::kInt: return std::to_string(value.whole);
    case Kind::kFloat: return std::to_string(value.real);
    case Kind::kString: return "<" + value.text + ">";
    case Kind::kList:
      for (const PyValue& item : value.items) out += (out.empty() ? "" : " ") + shown(item);
      return "[" + out + "]";
    case Kind::kDict:
      for (size_t i = 0; i < value.items.size(); i += 2)
        out += (out.empty() ? "" : " ") + shown(value.items[i]) + ":" + shown(value.items[i + 1]);
      return "{" + out + "}";
  }
  return "?";
}

std::string parsed(std::string_view text) {
  const auto value = parse_python(text);
  return value ? shown(*value) : "error";
}

TEST(PyDict, ReadsLiterals) {
  EXPECT_EQ(parsed("None"), "None");
  EXPECT_EQ(parsed(" True "), "True");
  EXPECT_EQ(parsed("-12"), "-12");
  EXPECT_EQ(parsed("+7"), "7");
  EXPECT_EQ(parsed("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(parsed("32.0"), "32.000000");
  EXPECT_EQ(parsed("-1e-1"), "-0.100000");
  EXPECT_EQ(parsed("[]"), "[]");
  EXPECT_EQ(parsed("{}"), "{}");
  EXPECT_EQ(parsed("()"), "[]");
  EXPECT_EQ(parsed("(3)"), "3");
  EXPECT_EQ(parsed("(3,)"), "[3]");
  EXPECT_EQ(parsed("[640, [480,], (1, 2)]"), "[640 [480] [1 2]]");
  EXPECT_EQ(parsed("[64 , 64 ]"), "[64 64]");
  EXPECT_EQ(parsed("{0: 'person', 1: \"it's\",\n 'nms': False}"),
            "{0:<person> 1:<it's> <nms>:False}");
}

TEST(PyDict, ReadsStringsWithEscapes) {
  EXPECT_EQ(parsed(R"('it\'s')"), "<it's>");
  EXPECT_EQ(parsed(R"("a\"b\\c")"), "<a\"b\\c>");
  EXPECT_EQ(parsed(R"('a\tb\nc')"), "<a\tb\nc>");
  EXPECT_EQ(parsed(R"('\xe9\u732b\U0001f408')"), "<é猫🐈>");
  EXPECT_EQ(parsed("'猫'"), "<猫>");
  EXPECT_EQ(parsed("'a' \"b\""), "<ab>");
  EXPECT_EQ(parsed("''"), "<>");
}

TEST(PyDict, RejectsEverythingElse) {
  for (const char* text : {"",
                           " ",
                           "none",
                           "nan",
                           "inf",
                           "-inf",
                           "1_000",
                           "0x10",
                           "1 2",
                           "12a",
                           "--1",
                           "1e999",
                           "-",
                           "9223372036854775808",
                           "[1",
                           "[1 2]",
                           "[,]",
                           "[1,,2]",
                           "[1)",
                           "{1}",
                           "{1:}",
                           "{1:2",
                           "{1:2 3:4}",
                           "{'a','b'}",
                           "{:1}",
                           "'a",
                           "\"a'",
                           "'a\nb'",
                           R"('\q')",
                           R"('\x4')",
                           R"('\xg0')",
                           R"('\ud800')",
                           R"('\U00110000')",
                           R"('\x00')",
                           R"('\x+1')",
                           "'\\",
                           "print()",
                           "float32",
                           "True1",
                           "b'a'",
                           "{0: person}",
                           "]",
                           "[1]]"}) {
    const auto value = parse_python(text);
    ASSERT_FALSE(value) << text << " became " << shown(*value);
    EXPECT_NE(value.error().message().find("Python"), std::string::npos);
  }
}

TEST(PyDict, LimitsDepthAndSize) {
  EXPECT_EQ(parsed(std::string(16, '[') + std::string(16, ']')).size(), 32u);
  EXPECT_EQ(parsed(std::string(18, '[') + std::string(18, ']')), "error");
  EXPECT_EQ(parsed(std::string(10'000'000, '[')), "error");
  std::string many = "[";
  for (int i = 0; i < 70000; ++i) many += "1,";
  EXPECT_EQ(parsed(many + "]"), "error");
}

TEST(PyDict, FindsTheLastOfAKey) {
  const auto value = parse_python("{'a': 1, 'b': 2, 'a': 3}");
  ASSERT_TRUE(value);
  ASSERT_NE(value->get("a"), nullptr);
  EXPECT_EQ(value->get("a")->whole, 3);
  EXPECT_EQ(value->get("c"), nullptr);
  EXPECT_EQ(PyValue{}.get("a"), nullptr);
}

const std::map<std::string, std::string> kUltralytics{
    {"author", "Ultralytics"},
    {"description", "Ultralytics YOLO11n-pose model trained on coco.yaml"},
    {"task", "pose"},
    {"stride", "32"},
    {"batch", "1"},
    {"imgsz", "[640, 480]"},
    {"names", "{0: 'person', 1: \"it's\", 3: 'dog'}"},
    {"kpt_shape", "[17, 3]"},
    {"channels", "3"},
    {"end2end", "False"},
    {"args",
     "{'batch': 1, 'half': False, 'dynamic': False, 'simplify': True, 'opset': None, 'nms': "
     "True}"}};

TEST(Metadata, IsReadAsWrittenByUltralytics) {
  const ModelMetadata read = read_metadata(kUltralytics);
  EXPECT_EQ(read.exporter, Exporter::kUltralytics);
  EXPECT_EQ(read.task, "pose");
  EXPECT_EQ(read.labels, (std::vector<std::string>{"person", "it's", "", "dog"}));
  EXPECT_EQ(read.size, (Size{480, 640}));
  EXPECT_EQ(read.stride, 32u);
  EXPECT_EQ(read.keypoint_numbers, 51u);
  EXPECT_TRUE(read.sorted);
  EXPECT_TRUE(read.remarks.empty()) << read.remarks.front();
}

TEST(Metadata, IdentifiesItsExporter) {
  EXPECT_EQ(read_metadata({}).exporter, Exporter::kUnknown);
  EXPECT_EQ(read_metadata({{"names", "['a']"}}).exporter, Exporter::kUnknown);
  const ModelMetadata five = read_metadata({{"names", "['a', 'b']"}, {"stride", "32.0"}});
  EXPECT_EQ(five.exporter, Exporter::kYolov5);
  EXPECT_EQ(five.labels, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(five.stride, 32u);
  EXPECT_FALSE(five.sorted);
  const ModelMetadata square =
      read_metadata({{"task", "detect"}, {"stride", "32"}, {"imgsz", "320"}});
  EXPECT_EQ(square.exporter, Exporter::kUltralytics);
  EXPECT_EQ(square.size, (Size{320, 320}));
  EXPECT_EQ(square.task, "detect");
}

const std::map<std::string, std::string> kLibreYolo{
    {"libreyolo_version", "1.6.0"},
    {"model_family", "yolo9"},
    {"task", "detect"},
    {"nc", "2"},
    {"imgsz", "640"},
    {"imgsz_h", "384"},
    {"imgsz_w", "640"},
    {"dynamic", "False"},
    {"letterbox_pad", "center"},
    {"names", R"({"0": "person", "1": "\ud83d\ude97 car"})"}};

TEST(Metadata, IsReadAsWrittenByLibreYolo) {
  const ModelMetadata read = read_metadata(kLibreYolo);
  EXPECT_EQ(read.exporter, Exporter::kLibreYolo);
  EXPECT_EQ(read.labels, (std::vector<std::string>{"person", "\U0001f697 car"}));
  EXPECT_EQ(read.head, "yolo9");
  EXPECT_EQ(read.size, (Size{640, 384}));
  EXPECT_EQ(read.resize, ResizeMode::kLetterboxCenter);
  EXPECT_TRUE(read.remarks.empty()) << read.remarks.front();
  auto other = kLibreYolo;
  other["letterbox_pad"] = "topleft";
  EXPECT_EQ(read_metadata(other).resize, ResizeMode::kLetterboxTopLeft);
  other["letterbox_pad"] = "left";
  EXPECT_EQ(read_metadata(other).remarks.size(), 1u);
  other["names"] = R"({"zero": "person"})";
  EXPECT_TRUE(read_metadata(other).labels.empty());
}

TEST(Metadata, HasTheWordsThatDescribeTheNetwork) {
  auto described = kUltralytics;
  described["description"] = "Ultralytics RTDETR-l model";
  described["head"] = "RTDETRDecoder";
  EXPECT_EQ(read_metadata(described).description, "Ultralytics RTDETR-l model");
  EXPECT_EQ(read_metadata(described).head, "RTDETRDecoder");
  EXPECT_EQ(read_metadata(kUltralytics).head, "");
}

TEST(Metadata, HasNumbersUpToTheirLimits) {
  const auto with = [](const char* key, const char* value) {
    auto changed = kUltralytics;
    changed[key] = value;
    return read_metadata(changed);
  };
  EXPECT_EQ(with("imgsz", "[320]").size, (Size{320, 320}));
  EXPECT_EQ(with("imgsz", "[1, 65535]").size, (Size{65535, 1}));
  EXPECT_EQ(with("imgsz", "[65536]").size, (Size{}));
  EXPECT_EQ(with("imgsz", "[640, 65536]").size, (Size{}));
  EXPECT_EQ(with("imgsz", "'640'").size, (Size{}));
  EXPECT_EQ(with("stride", "65535").stride, 65535u);
  EXPECT_EQ(with("stride", "65536").stride, 0u);
  EXPECT_EQ(with("stride", "1.0").stride, 1u);
  EXPECT_EQ(with("stride", "0.5").stride, 0u);
  EXPECT_EQ(with("stride", "65535.0").stride, 65535u);
  EXPECT_EQ(with("stride", "65536.0").stride, 0u);
  EXPECT_EQ(with("kpt_shape", "[5, 2]").keypoint_numbers, 10u);
  EXPECT_EQ(with("kpt_shape", "[5, 1]").keypoint_numbers, 5u);
  EXPECT_EQ(with("kpt_shape", "[5, 4]").keypoint_numbers, 0u);
  EXPECT_EQ(with("kpt_shape", "[0, 3]").keypoint_numbers, 0u);
  EXPECT_EQ(with("kpt_shape", "(5, 3)").keypoint_numbers, 15u);
}

TEST(Metadata, HasNamesOfEachOutput) {
  const ModelMetadata read = read_metadata({{"names", "['a']"},
                                            {"names.color", "{0: 'red', 2: 'blue'}"},
                                            {"names.kind", "'van'"},
                                            {"names.size", "["},
                                            {"namesake", "['b']"}});
  EXPECT_EQ(read.labels, std::vector<std::string>{"a"});
  ASSERT_EQ(read.labels_of.size(), 1u);
  EXPECT_EQ(read.labels_of.at("color"), (std::vector<std::string>{"red", "", "blue"}));
  ASSERT_EQ(read.remarks.size(), 2u);
  EXPECT_NE(read.remarks[0].find("names.kind"), std::string::npos) << read.remarks[0];
  EXPECT_NE(read.remarks[1].find("names.size"), std::string::npos) << read.remarks[1];
}

TEST(Metadata, SkipsInvalidValuesWithOneRemarkEach) {
  const struct {
    const char *key, *value;
  } cases[] = {{"names", "{0: 'a'"},        {"names", "{-1: 'a'}"},
               {"names", "{2048: 'a'}"},    {"names", "{'a': 'b'}"},
               {"names", "{0: 1}"},         {"names", "[]"},
               {"names", "'person'"},       {"names", "['\xff']"},
               {"names", "person,dog"},     {"imgsz", "[640, 480, 3]"},
               {"imgsz", "[0, 640]"},       {"imgsz", "-640"},
               {"imgsz", "[640.0, 480.0]"}, {"imgsz", "99999999999999"},
               {"imgsz", "640x480"},        {"stride", "0"},
               {"stride", "'32'"},          {"stride", "1e30"},
               {"kpt_shape", "[17]"},       {"kpt_shape", "[17, 9]"},
               {"kpt_shape", "17, 3"},      {"args", "Namespace()"},
               {"end2end", "yes"}};
  for (const auto& each : cases) {
    auto broken = kUltralytics;
    broken[each.key] = each.value;
    const ModelMetadata read = read_metadata(broken);
    ASSERT_EQ(read.remarks.size(), 1u) << each.key << " " << each.value;
    EXPECT_NE(read.remarks[0].find(each.key), std::string::npos) << read.remarks[0];
    EXPECT_TRUE(g_utf8_validate(read.remarks[0].c_str(), -1, nullptr)) << each.value;
    EXPECT_EQ(read.task, "pose");
    EXPECT_EQ(read.labels.empty(), std::string(each.key) == "names");
    EXPECT_EQ(read.size == Size{}, std::string(each.key) == "imgsz");
  }
}

TEST(Metadata, HasOneNamePerLineOfCharacters) {
  EXPECT_EQ(read_metadata({{"character", "car\ntruck\nvan\n"}}).labels,
            (std::vector<std::string>{"car", "truck", "van"}));
  EXPECT_EQ(read_metadata({{"character", "a\nb"}, {"names", "{0: 'car'}"}}).labels,
            std::vector<std::string>{"car"});
  EXPECT_EQ(read_metadata({{"character", "a\n\nb\n\n\n"}}).labels,
            (std::vector<std::string>{"a", "", "b"}));
  for (const char* invalid : {"car", "", "car\n\xff"}) {
    const ModelMetadata read = read_metadata({{"character", invalid}});
    EXPECT_TRUE(read.labels.empty()) << invalid;
    ASSERT_EQ(read.remarks.size(), 1u) << invalid;
    EXPECT_NE(read.remarks[0].find("one name per line"), std::string::npos) << read.remarks[0];
  }
}

TEST(Metadata, HasNamesForTheMaximumOfClasses) {
  EXPECT_EQ(read_metadata({{"names", "{2047: 'last'}"}}).labels.size(), 2048u);
  std::string many = "[";
  for (int i = 0; i < 2049; ++i) many += "'a',";
  EXPECT_TRUE(read_metadata({{"names", many + "]"}}).labels.empty());
}

TEST(Metadata, SurvivesEveryMutation) {
  std::mt19937 random(6);
  size_t good = 0, bad = 0;
  for (int round = 0; round < 20000; ++round) {
    auto changed = kUltralytics;
    const char* keys[] = {"names", "imgsz", "args", "kpt_shape", "stride", "end2end"};
    std::string& text = changed[keys[random() % 6]];
    for (int change = 0; change < 1 + round % 3 && !text.empty(); ++change) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1 + random() % 4); break;
        default: text.insert(at, 1, "{}[]()'\",:\\x09-eN\0"[random() % 19]); break;
      }
    }
    const ModelMetadata read = read_metadata(changed);
    ++(read.remarks.empty() ? good : bad);
    EXPECT_LE(read.labels.size(), 2048u);
  }
  EXPECT_GT(good, 100u);
  EXPECT_GT(bad, 100u);
}

}  // namespace
}  // namespace keepbox
