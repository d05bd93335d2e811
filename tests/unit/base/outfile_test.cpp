// SPDX-License-Identifier: LGPL-2.1-or-later
// Files written directly because their name is an open file of the process.
#include "gst/base/outfile.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "tests/tempdir.h"

namespace keepbox {
namespace {

TEST(OutFile, OfAnOpenFileIsWrittenDirectly) {
  const test::TempDir dir;
  const std::string path = dir.write("log", "before\n");
  const int log = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(log, 0);
  const std::string name = "/dev/fd/" + std::to_string(log);
  if (!std::filesystem::exists(name)) GTEST_SKIP() << "no " << name << " on this machine";
  const Interrupt interrupt;
  auto file = OutFile::open(name, &interrupt);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->part(), "");
  EXPECT_TRUE(file->write("one\n") && file->finish(""));
  EXPECT_TRUE(file->resume()) << "lines continue";
  EXPECT_TRUE(file->write("two\n") && file->finish("]\n"));
  const Status status = file->resume();
  ASSERT_FALSE(status) << "an ended file does not";
  EXPECT_NE(status.error().message().find("lines instead of one array"), std::string::npos);
  std::ifstream written(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(written), {}), "before\none\ntwo\n]\n");
  ::close(log);
}

constexpr size_t kLong = 14'000;  // bytes per line, more than the capacity of a pipe

/// Starts a thread that writes lines of one letter.
std::thread writer_of(const std::string& path, char letter, int lines) {
  return std::thread([=] {
    const Interrupt interrupt;
    auto file = OutFile::open(path, &interrupt);
    ASSERT_TRUE(file) << file.error().message();
    for (int i = 0; i < lines; ++i) ASSERT_TRUE(file->write(std::string(kLong, letter) + '\n'));
  });
}

void expect_whole_lines(const std::string& text, int lines) {
  std::istringstream in(text);
  int count = 0;
  for (std::string line; std::getline(in, line); ++count)
    ASSERT_EQ(line, std::string(kLong, line.empty() ? '?' : line[0])) << "line " << count;
  EXPECT_EQ(count, lines);
}

class ConcurrentWriters : public testing::Test {
 protected:
  std::string read() {
    std::string out;
    char block[4096];
    for (ssize_t got; (got = ::read(reader_, block, sizeof block)) > 0;)
      out.append(block, static_cast<size_t>(got));
    return out;
  }
  void SetUp() override {
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    reader_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader_, 0);
  }
  void TearDown() override { ::close(reader_); }

  test::TempDir dir_;
  std::string path_ = dir_ / "fifo";
  int reader_ = -1;
};

TEST_F(ConcurrentWriters, OfAFifoLeaveLinesWhole) {
  std::thread a = writer_of(path_, 'a', 100), b = writer_of(path_, 'b', 100);
  std::string all;
  while (all.size() < 200 * (kLong + 1)) {
    const size_t before = all.size();
    all += read();
    if (all.size() == before) std::this_thread::yield();
  }
  a.join();
  b.join();
  expect_whole_lines(all, 200);
}

TEST_F(ConcurrentWriters, CompleteWhatAnInterruptLeft) {
  Interrupt interrupt;
  interrupt.set(true);
  auto a = OutFile::open(path_, &interrupt), b = OutFile::open(path_, &interrupt);
  ASSERT_TRUE(a && b);
  const std::string many(200'000, 'a');
  ASSERT_TRUE(a->write(many + '\n'));
  ASSERT_TRUE(a->pending());
  std::string all = read();
  ASSERT_TRUE(b->write("b\n"));
  for (int tries = 0; (a->pending() || b->pending()) && tries < 100; ++tries) {
    all += read();
    ASSERT_TRUE(b->write({}));
  }
  EXPECT_FALSE(a->pending());
  all += read();
  EXPECT_EQ(all, many + "\nb\n");
}

TEST(OutFile, OfAnOpenFileLeavesLinesOfSeveralWritersWhole) {
  const test::TempDir dir;
  const std::string path = dir.write("log", "");
  const int log = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(log, 0);
  const std::string name = "/dev/fd/" + std::to_string(log);
  if (!std::filesystem::exists(name)) GTEST_SKIP() << "no " << name << " on this machine";
  std::thread a = writer_of(name, 'a', 300), b = writer_of(name, 'b', 300);
  a.join();
  b.join();
  std::ifstream written(path);
  expect_whole_lines(std::string(std::istreambuf_iterator<char>(written), {}), 600);
  ::close(log);
}

}  // namespace
}  // namespace keepbox
