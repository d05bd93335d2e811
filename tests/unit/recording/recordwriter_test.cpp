// SPDX-License-Identifier: LGPL-2.1-or-later
// Recordings are replaced once they are complete, by one writer, and other files stay untouched.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>

#include "gst/recording/tensorwriter.h"
#include "tests/unit/recording/readback.h"

namespace keepbox {
namespace {

namespace fs = std::filesystem;
using test::kValues;
using test::read_error;

Status write_one(TensorWriter& writer, std::optional<int64_t> time = {}) {
  const RecordedTensor tensor{
      {.id = "x", .data = kValues.data(), .bytes = sizeof kValues, .shape = {4}}};
  return writer.write({.tensors = std::span(&tensor, 1), .time = time, .size = {8, 8}});
}

TEST(RecordingWriter, RejectsFilesThatAreNotRegular) {
  for (const std::string name : {"frames.jsonl", "frames.jsonl.part", "000000.0.npy"}) {
    for (const bool link : {false, true}) {
      const test::TempDir dir, other;
      const std::string target = other.write("precious", "data");
      if (link) fs::create_symlink(target, dir / name);
      else ASSERT_EQ(mkfifo((dir / name).c_str(), 0600), 0);
      auto writer = TensorWriter::create(dir.path().string());
      const Status status = writer ? write_one(*writer) : std::unexpected(writer.error());
      ASSERT_FALSE(status) << name;
      EXPECT_NE(status.error().message().find(dir / name), std::string::npos);
      EXPECT_EQ(fs::file_size(target), 4u);
    }
  }
}

TEST(RecordingWriter, AcceptsEmptyTensors) {
  const test::TempDir dir;
  {
    auto writer = TensorWriter::create(dir.path().string());
    const RecordedTensor none{{.id = "x", .shape = {1, 0, 6}}};
    ASSERT_TRUE(writer->write({.tensors = std::span(&none, 1)}));
    ASSERT_TRUE(writer->finish());
  }
  auto reader = TensorReader::open(dir.path().string(), {});
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->read(0)->front().shape, (Shape{1, 0, 6}));
}

std::vector<std::string> names_in(const test::TempDir& dir) {
  std::vector<std::string> out;
  for (const auto& each : fs::directory_iterator(dir.path())) out.push_back(each.path().filename());
  std::ranges::sort(out);
  return out;
}

TEST(RecordingWriter, ReplacesARecordingOnceComplete) {
  const test::TempDir dir;
  dir.write("notes.npy", "mine");
  for (int round = 0; round < 3; ++round) {
    {
      auto cut = TensorWriter::create(dir.path().string());
      ASSERT_TRUE(cut && write_one(*cut, 7));
      EXPECT_FALSE(cut->finished());
    }
    if (round > 0) {
      EXPECT_EQ(read_error(dir.path().string()), "") << "the older one is gone";
    }
    auto writer = TensorWriter::create(dir.path().string());
    for (int i = 0; i <= 3 - round; ++i) ASSERT_TRUE(write_one(*writer, i));
    ASSERT_TRUE(writer->finish());
    ASSERT_TRUE(write_one(*writer, 100));  // after a seek
    ASSERT_TRUE(writer->finish());
    EXPECT_TRUE(writer->finished());
    writer = TensorWriter::create(dir / "elsewhere");
    auto reader = TensorReader::open(dir.path().string(), {});
    ASSERT_TRUE(reader) << reader.error().message();
    EXPECT_EQ(reader->frames(), size_t(5 - round));
    for (size_t i = 0; i < reader->frames(); ++i) EXPECT_TRUE(reader->read(i));
    const size_t cut_short = round + 1;  // runs that leave an index and a tensor
    EXPECT_EQ(names_in(dir).size(), reader->frames() + 3 + 2 * cut_short)
        << "the older files stayed";
  }
}

TEST(RecordingWriter, RespectsTheUmask) {
  const test::TempDir dir;
  const mode_t before = umask(0);
  {
    auto writer = TensorWriter::create(dir.path().string());
    EXPECT_TRUE(writer && write_one(*writer) && writer->finish());
  }
  umask(before);
  for (const char* name : {"000000.0.npy", "frames.jsonl"})
    EXPECT_EQ(static_cast<unsigned>(fs::status(dir / name).permissions()), 0666u) << name;
}

TEST(RecordingWriter, KeepsInterruptedRecordings) {
  const test::TempDir dir;
  for (int run = 0; run < 3; ++run) {
    auto writer = TensorWriter::create(dir.path().string());
    ASSERT_TRUE(writer);
    EXPECT_EQ(writer->older().has_value(), run > 0);
    ASSERT_TRUE(write_one(*writer, run));
    if (run == 2) {
      ASSERT_TRUE(writer->finish());
    }
  }
  EXPECT_EQ(names_in(dir), (std::vector<std::string>{
                               "000000.0.npy", "b000000.0.npy", "bb000000.0.npy", "frames.jsonl",
                               "frames.jsonl.part.1", "frames.jsonl.part.2"}));
  fs::rename(dir / "frames.jsonl.part.2", dir / "frames.jsonl");
  auto reader = TensorReader::open(dir.path().string(), {});
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_TRUE(reader->read(0));
}

Status write_labeled(TensorWriter& writer, const std::vector<std::string>& labels) {
  const RecordedTensor tensor{
      {.id = "x", .data = kValues.data(), .bytes = sizeof kValues, .shape = {4}},
      GST_TENSOR_DIM_ORDER_ROW_MAJOR,
      std::make_shared<const TensorProvenance>(TensorProvenance{.labels = labels})};
  return writer.write({.tensors = std::span(&tensor, 1), .size = {8, 8}});
}

TEST(RecordingWriter, WritesLabelsOnceAndRemovesOldOnes) {
  const test::TempDir dir;
  dir.write("mine.labels", "mine\n");
  for (int round = 0; round < 3; ++round) {
    const std::string prefix = round == 1 ? "b" : "";
    auto writer = TensorWriter::create(dir.path().string());
    ASSERT_TRUE(writer);
    for (const char* name : {"a", "b", "a", "b"}) ASSERT_TRUE(write_labeled(*writer, {name, ""}));
    ASSERT_TRUE(writer->finish());
    std::vector<std::string> want{prefix + "000000.0.npy",  prefix + "000001.0.npy",
                                  prefix + "000002.0.npy",  prefix + "000003.0.npy",
                                  prefix + "000000.labels", prefix + "000001.labels",
                                  "frames.jsonl",           "mine.labels"};
    std::ranges::sort(want);
    EXPECT_EQ(names_in(dir), want);
  }
}

TEST(RecordingWriter, WithoutFramesWritesARecording) {
  const test::TempDir dir;
  {
    auto writer = TensorWriter::create(dir.path().string());
    ASSERT_TRUE(write_one(*writer) && writer->finish());
  }
  {
    auto writer = TensorWriter::create(dir.path().string());
    ASSERT_TRUE(writer->finish());
  }
  EXPECT_EQ(read_error(dir.path().string()), "");
}

TEST(RecordingWriter, IsExclusiveInItsFolder) {
  const test::TempDir dir;
  {
    auto writer = TensorWriter::create(dir.path().string());
    ASSERT_TRUE(write_one(*writer) && writer->finish());
    EXPECT_FALSE(TensorWriter::create(dir.path().string()));
    EXPECT_NE(read_error(dir.path().string()).find("records to"), std::string::npos);
  }
  auto reader = TensorReader::open(dir.path().string(), {});
  ASSERT_TRUE(reader);
  EXPECT_EQ(read_error(dir.path().string()), "") << "several may read";
  const auto writer = TensorWriter::create(dir.path().string());
  ASSERT_FALSE(writer);
  EXPECT_NE(writer.error().message().find("replays or records"), std::string::npos);
}

TEST(RecordingWriter, KeepsTheOlderRecordingOnAFullDisk) {
  const test::TempDir dir;
  {
    auto writer = TensorWriter::create(dir.path().string());
    ASSERT_TRUE(write_one(*writer) && writer->finish());
  }
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit, small;
  getrlimit(RLIMIT_FSIZE, &limit);
  small = limit;
  small.rlim_cur = 100;
  {
    auto writer = TensorWriter::create(dir.path().string());
    ASSERT_TRUE(writer);
    ASSERT_TRUE(write_one(*writer, 5));
    setrlimit(RLIMIT_FSIZE, &small);
    EXPECT_FALSE(write_one(*writer));
    setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT_TRUE(writer->finish());
    EXPECT_FALSE(writer->finished());
  }
  std::signal(SIGXFSZ, before);
  auto reader = TensorReader::open(dir.path().string(), {});
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->times().timeline.empty()) << "the older one's frame has no time";
}

}  // namespace
}  // namespace keepbox
