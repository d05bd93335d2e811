// SPDX-License-Identifier: LGPL-2.1-or-later
// What is written directly, because its name is a process's own open file.
#include "gst/base/outfile.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

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
  EXPECT_TRUE(file->resume()) << "lines go on";
  EXPECT_TRUE(file->write("two\n") && file->finish("]\n"));
  const Status status = file->resume();
  ASSERT_FALSE(status) << "what has been ended does not";
  EXPECT_NE(status.error().message().find("lines instead of one array"), std::string::npos);
  std::ifstream written(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(written), {}), "before\none\ntwo\n]\n");
  ::close(log);
}

}  // namespace
}  // namespace keepbox
