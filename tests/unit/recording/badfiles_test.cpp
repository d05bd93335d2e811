// SPDX-License-Identifier: LGPL-2.1-or-later
// Recordings that are inconsistent, change, or are not regular files.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <ctime>
#include <filesystem>

#include "gst/recording/files.h"
#include "tests/unit/recording/readback.h"

namespace keepbox {
namespace {

namespace fs = std::filesystem;
using test::kValues;
using test::read_error;

std::string npy() {
  return npy_header(DataType::kFloat32, {4}) +
         std::string(reinterpret_cast<const char*>(kValues.data()), sizeof kValues);
}

std::string entry(const std::string& file, const std::string& more = "") {
  return "{\"file\":\"" + file + "\",\"id\":\"x\",\"type\":\"float32\"" + more + "}";
}

std::string line(const std::string& entries, const std::string& more = "") {
  return "{\"tensors\":[" + entries + "]" + more + "}\n";
}

std::string refusal(const test::TempDir& dir, const std::string& index) {
  dir.write("frames.jsonl", index);
  return read_error(dir.path().string());
}

TEST(RecordingIndex, ErrorsNameTheFileAndTheLine) {
  const test::TempDir dir;
  dir.write("a.npy", npy());
  const std::string good = line(entry("a.npy"));
  ASSERT_EQ(refusal(dir, good), "");
  ASSERT_EQ(refusal(dir, "{\"tensors\":[]}"), "");  // also without the last line feed
  const std::string lines[] = {
      "not json\n",
      "[]\n",
      "{}\n",
      "{\"tensors\":5}\n",
      line("1"),
      line("{\"file\":5}"),
      line("{\"file\":\"a.npy\",\"type\":7}"),
      line("{\"file\":\"a.npy\",\"type\":\"string\"}"),
      line(entry("a.npy", ",\"dims\":[4.5]")),
      line(entry("a.npy", ",\"dims\":[1,1,1,1,1,1,1,1,1]")),
      line(entry("a.npy", ",\"dims-order\":\"diagonal\"")),
      line("", ",\"pts\":\"now\""),
      line("", ",\"pts\":18446744073709551615"),
      line("", ",\"duration\":-1"),
      line("", ",\"width\":-5"),
      line("", ",\"skipped\":1"),
      line(entry("a.npy", ",\"dims-order\":\"row-major\\u0000\"")),
      line("{\"file\":\"a.npy\",\"id\":\"x\\u0000y\",\"type\":\"float32\"}"),
      line("", ",\"height\":99999999999"),
      good.substr(0, 20) + std::string(1, '\0') + good.substr(20),
      good.substr(0, good.size() - 1) + std::string(1, '\0') + "rest\n",
      line("", ",\"note\":\"" + std::string(1 << 20, 'x') + "\""),
      std::string(200'000, '[') + "\n"};
  for (const std::string& broken : lines) {
    const std::string text = refusal(dir, good + "\n" + broken + good);
    EXPECT_NE(text.find("line 3 of " + (dir / "frames.jsonl")), std::string::npos)
        << broken.substr(0, 80) << ": " << text;
  }
  fs::resize_file(dir.write("frames.jsonl", good), size_t{1} << 33);  // exceeds memory
  EXPECT_NE(read_error(dir.path().string()).find("line 2"), std::string::npos);
  EXPECT_NE(refusal(dir, ""), "");
  EXPECT_NE(refusal(dir, "\n\n\n"), "");
}

TEST(RecordingIndex, ErrorsDescribeInvalidSources) {
  const test::TempDir dir, other;
  dir.write("a.npy", npy());
  dir.write("good.labels", "a\n\nb\n");
  dir.write("cut.labels", "a\nb");
  dir.write("empty.labels", "");
  dir.write("nul.labels", std::string("a\0\n", 3));
  dir.write("latin.labels", "caf\xe9\n");
  dir.write("many.labels", std::string(70'000, '\n'));
  fs::create_symlink(other.write("l", "a\n"), dir / "link.labels");
  const auto error_with = [&](const std::string& source) {
    return refusal(dir, line(entry("a.npy", ",\"source\":" + source)));
  };
  const std::string place = "\"frame\":[2,2],\"input\":[4,4],\"scale\":[0.5,0.5]";
  EXPECT_EQ(error_with("{}"), "");
  EXPECT_EQ(error_with("{" + place +
                       ",\"pad\":[0,-1.5],\"units\":\"pixels\",\"model\":\"\","
                       "\"detector\":\"to come\",\"labels\":\"good.labels\",\"more\":1}"),
            "");
  const std::string broken[] = {"5",
                                "null",
                                "{" + place + "}",
                                "{" + place + ",\"pad\":[0]}",
                                "{" + place + ",\"pad\":[0,\"1\"]}",
                                "{" + place + ",\"pad\":[0,1e39]}",
                                "{\"frame\":[2,2],\"input\":[4,4],\"scale\":[0,1],\"pad\":[0,0]}",
                                "{\"frame\":[2,2],\"input\":[4,4],\"scale\":[1,-1],\"pad\":[0,0]}",
                                "{\"frame\":[2,0],\"input\":[4,4],\"scale\":[1,1],\"pad\":[0,0]}",
                                "{\"frame\":[2,2],\"input\":[4,4.5],\"scale\":[1,1],\"pad\":[0,0]}",
                                "{\"frame\":[2,2],\"input\":[4,99999999999],\"scale\":[1,1],"
                                "\"pad\":[0,0]}",
                                "{\"units\":\"inches\"}",
                                "{\"units\":1}",
                                "{\"model\":[]}",
                                "{\"labels\":7}",
                                "{\"labels\":\"\"}",
                                "{\"labels\":\"../l\"}",
                                "{\"detector\":\"a\\u0000b\"}"};
  for (const std::string& source : broken) {
    const std::string text = error_with(source);
    EXPECT_TRUE(text.contains("line 1 of " + (dir / "frames.jsonl")) ||
                text.contains("frames.jsonl:1: "))
        << source << ": " << text;
  }
  for (const std::string name : {"cut", "empty", "nul", "latin", "link", "many", "none"}) {
    const std::string text = error_with("{\"labels\":\"" + name + ".labels\"}");
    EXPECT_NE(text.find(dir / (name + ".labels")), std::string::npos) << text;
    EXPECT_NE(text.find("frames.jsonl:1: "), std::string::npos) << text;
  }
}

TEST(RecordingIndex, ErrorsDescribeInvalidTiles) {
  const test::TempDir dir;
  dir.write("a.npy", npy());
  const std::string place = R"("frame":[2,2],"input":[4,4],"scale":[1,1],"pad":[0,0],)";
  const auto error_with = [&](const std::string& source) {
    return refusal(dir, line(entry("a.npy", ",\"source\":{" + source + "}")));
  };
  EXPECT_EQ(error_with(place + R"("tiles":[[1,2,-3,4,0,0,1,1]],"held":true)"), "");
  for (const char* tiles : {"1", "[[1]]", "[[0,1,0,0,0,0,1,1]]", "[[1,0,0,0,0,0,1,1]]",
                            "[[1,1,0,0,0,0,1,null]]", "[[1,1,0,0,0,0,1,1e39]]"})
    EXPECT_TRUE(error_with(place + "\"tiles\":" + tiles).contains("line 1")) << tiles;
  EXPECT_TRUE(error_with(R"("tiles":[[1,2,-3,4,0,0,1,1]])").contains("line 1")) << "of no frame";
  EXPECT_TRUE(error_with(R"("held":1)").contains("line 1"));
}

TEST(RecordingIndex, StaysInItsFolder) {
  const test::TempDir dir, other;
  other.write("a.npy", npy());
  fs::create_symlink(other / "a.npy", dir / "link.npy");
  dir.write("sub", "");
  const std::string leaving[] = {other / "a.npy",
                                 "../" + other.path().filename().string() + "/a.npy",
                                 "..",
                                 ".",
                                 "",
                                 "./a.npy",
                                 "a\\u0000b.npy"};
  for (const std::string& name : leaving) {
    const std::string text = refusal(dir, line(entry(name)));
    EXPECT_NE(text.find("line 1"), std::string::npos) << name << ": " << text;
  }
  EXPECT_NE(refusal(dir, line(entry("link.npy"))).find("symbolic link"), std::string::npos);
  fs::remove(dir / "frames.jsonl");
  other.write("frames.jsonl", "{\"tensors\":[]}\n");
  fs::create_symlink(other / "frames.jsonl", dir / "frames.jsonl");
  EXPECT_NE(read_error(dir.path().string()).find("symbolic link"), std::string::npos);
  fs::create_directory_symlink(other.path(), dir / "folder");  // the folder itself may be a link
  EXPECT_EQ(read_error(dir / "folder"), "");
}

TEST(RecordingIndex, AgreesWithItsFiles) {
  const test::TempDir dir;
  dir.write("a.npy", npy());
  dir.write("short.npy", npy().substr(0, npy().size() - 3));
  dir.write("huge.npy", npy_header(DataType::kFloat32, {size_t{1} << 62}));
  dir.write("empty.npy", "");
  dir.write("text.npy", "hello");
  const auto error = [&](const std::string& file, const std::string& more = "") {
    return refusal(dir, line(entry(file, more)));
  };
  EXPECT_EQ(error("a.npy", ",\"dims\":[4]"), "");
  for (const std::string file : {"short.npy", "huge.npy", "empty.npy", "text.npy", "none.npy"}) {
    EXPECT_NE(error(file).find(file), std::string::npos) << error(file);
    EXPECT_NE(error(file).find("line 1"), std::string::npos) << error(file);
  }
  EXPECT_NE(error("a.npy", ",\"dims\":[2,2]").find("2x2"), std::string::npos);
  for (const char version : {'\0', '\4', '\11'}) {
    std::string other = npy();
    other[6] = version;
    dir.write("other.npy", other);
    for (const std::string& words :
         {(dir / "other.npy") + ": expected", "found version " + std::to_string(version)})
      EXPECT_NE(error("other.npy").find(words), std::string::npos) << error("other.npy");
  }
  EXPECT_NE(refusal(dir, "{\"tensors\":[{\"file\":\"a.npy\",\"type\":\"int32\"}]}\n").find("int32"),
            std::string::npos);
}

TEST(RecordingIndex, ReportsUnusableTimes) {
  const test::TempDir dir;
  const auto remark = [&](const std::string& index) {
    dir.write("frames.jsonl", index);
    auto reader = TensorReader::open(dir.path().string(), {});
    EXPECT_TRUE(reader) << reader.error().message();
    const FrameTimes& times = reader->times();
    return times.timeline.empty() ? times.remark : "good";
  };
  const auto at = [](const std::string& pts) { return line("", ",\"pts\":" + pts); };
  EXPECT_EQ(remark(at("-5") + at("0") + at("7")), "good");
  EXPECT_EQ(remark(line("") + line("")), "");
  for (const std::string& second : {at("0"), at("5"), line(""), at("4611686018427387904"),
                                    at("-9223372036854775808"), at("10000000000000000")})
    EXPECT_NE(remark(at("5") + second).find("line 2"), std::string::npos) << second;
}

/// Returns the processor time for an index of a line with that many fields.
double seconds_for(int count) {
  const test::TempDir dir;
  std::string fields;
  for (int i = 0; i < count; ++i) fields += ",\"" + std::to_string(i) + "\":0";
  const std::clock_t start = std::clock();
  EXPECT_EQ(refusal(dir, "{\"tensors\":[]" + fields + "}\n"), "");
  return double(std::clock() - start) / CLOCKS_PER_SEC;
}

TEST(RecordingIndex, HasLinesOfOneMebibyteAtMost) {
  const test::TempDir dir;
  const auto of_size = [](size_t size) {
    const std::string text = R"({"tensors":[],"x":""})";
    return R"({"tensors":[],"x":")" + std::string(size - text.size(), 'x') + "\"}";
  };
  for (const char* end : {"\n", ""}) {
    EXPECT_EQ(refusal(dir, of_size(1 << 20) + end), "");
    EXPECT_NE(refusal(dir, of_size((1 << 20) + 1) + end).find("more than 1 MiB"),
              std::string::npos);
  }
}

/// Checks that four times the fields take four times as long, not sixteen times.
TEST(RecordingIndex, TakesLinearTime) {
  EXPECT_LT(seconds_for(80'000), 9 * seconds_for(20'000) + 0.5);
}

long max_memory() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;  // KiB
}

TEST(RecordingIndex, TakesLinearMemory) {
  const test::TempDir dir;
  std::string labels, index;
  for (int i = 0; i < 60'000; ++i) labels += std::to_string(i) + "-a-name-of-some-length\n";
  dir.write("many.labels", labels);
  dir.write("a.npy", npy());
  for (int i = 0; i < 400; ++i)
    index += line(entry(
        "a.npy", R"(,"source":{"labels":"many.labels","model":")" + std::to_string(i) + "\"}"));
  const long before = max_memory();
  EXPECT_EQ(refusal(dir, index), "");
  EXPECT_LT(max_memory() - before, 256 << 10);
}

TEST(RecordingReader, FileThatShrinksIsAnError) {
  const test::TempDir dir;
  const std::string raw = dir.write("t.raw", std::string(64 * 4096, 'x'));
  auto reader = TensorReader::open(raw, {"4096", "float32", ""});
  ASSERT_TRUE(reader);
  const auto held = reader->read(0)->front().data;
  EXPECT_EQ(reader->read(0)->front().data, held) << "read twice";
  fs::resize_file(raw, 100);
  const auto after = reader->read(9);
  ASSERT_FALSE(after);
  EXPECT_NE(after.error().message().find(raw), std::string::npos);
  char byte = 0;  // the data already read stays
  EXPECT_EQ(gst_buffer_extract(held.get(), 16383, &byte, 1), 1u);
  EXPECT_EQ(byte, 'x');
}

TEST(RecordingReader, RejectsFilesThatAreNotRegular) {
  const test::TempDir dir;
  ASSERT_EQ(mkfifo((dir / "fifo.npy").c_str(), 0600), 0);
  const RawForm form{"4", "float32", ""};
  EXPECT_NE(read_error(dir / "fifo.npy", form).find("FIFO"), std::string::npos);
  EXPECT_NE(read_error("/dev/zero", form).find("device"), std::string::npos);
  EXPECT_NE(refusal(dir, line(entry("fifo.npy"))).find("FIFO"), std::string::npos);
  fs::remove(dir / "frames.jsonl");
  ASSERT_EQ(mkfifo((dir / "frames.jsonl").c_str(), 0600), 0);
  EXPECT_NE(read_error(dir.path().string()).find("FIFO"), std::string::npos);
}

}  // namespace
}  // namespace keepbox
