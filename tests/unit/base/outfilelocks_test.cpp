// SPDX-License-Identifier: LGPL-2.1-or-later
// Several writers of one file, each interrupting another at a critical point.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <utility>

#include "gst/base/outfile.h"
#include "tests/tempdir.h"

namespace {

std::function<void()> before_rename, before_flock;  // called once each

void call_once(std::function<void()>& function) {
  if (const auto now = std::exchange(function, nullptr)) now();
}

}  // namespace

// Replaces the C library's functions in the whole program.
extern "C" int rename(const char* from, const char* to) noexcept {
  call_once(before_rename);
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

extern "C" int flock(int file, int operation) noexcept {
  call_once(before_flock);
  return static_cast<int>(syscall(SYS_flock, file, operation));
}

namespace keepbox {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class OutFileLocks : public testing::Test {
 protected:
  Result<OutFile> open_with(const std::string& text) {
    auto file = OutFile::open(path_);
    if (file) {
      EXPECT_TRUE(file->write(text));
    }
    return file;
  }
  bool is_refused() {
    const auto file = OutFile::open(path_);
    return !file && file.error().message().contains("Another writer uses");
  }

  test::TempDir dir_;
  std::string path_ = dir_ / "out", part_ = path_ + ".part";
};

TEST_F(OutFileLocks, AreExclusiveUntilTheFileHasItsName) {
  auto a = open_with("a");
  ASSERT_TRUE(a);
  before_rename = [&] { EXPECT_TRUE(is_refused()); };
  EXPECT_TRUE(a->finish(""));
  EXPECT_EQ(text_of(path_), "a");
}

TEST_F(OutFileLocks, RejectAFileRenamedMeanwhile) {
  auto a = open_with("a");
  ASSERT_TRUE(a);
  before_flock = [&] { EXPECT_TRUE(a->finish("")); };
  auto b = open_with("b");
  ASSERT_TRUE(b);
  EXPECT_EQ(text_of(path_), "a");
  EXPECT_TRUE(b->finish(""));
  EXPECT_EQ(text_of(path_), "b");
}

TEST_F(OutFileLocks, ContinueTheirFile) {
  auto a = open_with("a");
  ASSERT_TRUE(a && a->finish("]"));
  EXPECT_EQ(text_of(path_), "a]");
  ASSERT_TRUE(a->resume());
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_TRUE(is_refused());
  ASSERT_TRUE(a->write("b") && a->finish("]"));
  EXPECT_EQ(text_of(path_), "ab]");
  EXPECT_FALSE(fs::exists(part_));
}

TEST_F(OutFileLocks, DoNotOverwriteAnothersPart) {
  auto a = open_with("a");
  ASSERT_TRUE(a && a->finish(""));
  auto b = open_with("b");
  ASSERT_TRUE(b);
  const Status status = a->resume();
  ASSERT_FALSE(status);
  EXPECT_TRUE(status.error().message().contains("Another writer uses"));
  EXPECT_EQ(text_of(path_), "a");
  EXPECT_TRUE(b->finish(""));
  EXPECT_EQ(text_of(path_), "b");
}

TEST_F(OutFileLocks, DoNotContinueAnothersFile) {
  auto a = open_with("a");
  ASSERT_TRUE(a && a->finish("]"));
  auto b = open_with("another");
  ASSERT_TRUE(b && b->finish("]"));
  const Status status = a->resume();
  ASSERT_FALSE(status);
  EXPECT_TRUE(status.error().message().contains("another file or writer"))
      << status.error().message();
  EXPECT_EQ(text_of(path_), "another]");
  EXPECT_FALSE(fs::exists(part_));
  fs::remove(path_);
  EXPECT_FALSE(a->resume());
  EXPECT_FALSE(fs::exists(part_));
}

TEST_F(OutFileLocks, KeepUnfinishedFilesOfEarlierOnes) {
  EXPECT_FALSE(open_with("one")->older());
  auto file = open_with("two");
  ASSERT_TRUE(file && file->older());
  EXPECT_EQ(file->older()->message(), "An earlier run left the unfinished file " + part_ +
                                          ", which is now " + part_ +
                                          ".1. Rename it to use its content, or remove it.");
  EXPECT_EQ(text_of(part_), "two");
  file = fail(ErrorKind::kInvalid, "", "");
  EXPECT_TRUE(open_with("")->older());
  EXPECT_FALSE(open_with("three")->older()) << "an empty file is not kept";
  EXPECT_EQ(text_of(part_ + ".1"), "one");
  EXPECT_EQ(text_of(part_ + ".2"), "two");
}

}  // namespace
}  // namespace keepbox
