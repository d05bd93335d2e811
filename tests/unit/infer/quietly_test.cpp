// SPDX-License-Identifier: LGPL-2.1-or-later
// Filtering of std::cerr, while other threads write to it.
#include "gst/infer/onnx/quietly.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <thread>
#include <vector>

namespace keepbox {
namespace {

/// Captures the output to std::cerr.
class Caught {
 public:
  Caught() : before_(std::cerr.rdbuf(text_.rdbuf())) {}
  ~Caught() { std::cerr.rdbuf(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

TEST(Quietly, DropsSchemaErrorsAndEmptyLinesAfterThem) {
  const Caught caught;
  {
    const WithoutSchemaErrors silence;
    std::cerr << "one\nSchema error: two\n\nthree" << '\n' << "\nSchema error: " << 4 << "\nfive";
  }
  std::cerr << "six\nSchema error: seven\n";
  EXPECT_EQ(caught.text(), "one\nthree\n\nfivesix\nSchema error: seven\n");
}

/// Models that load at the same time end at different times.
TEST(Quietly, EndsWithTheLastOfSeveral) {
  const Caught caught;
  auto first = std::make_unique<WithoutSchemaErrors>();
  {
    const WithoutSchemaErrors second;
    first.reset();
    std::cerr << "Schema error: one\ntwo\n";
  }
  std::cerr << "Schema error: three\n";
  EXPECT_EQ(caught.text(), "two\nSchema error: three\n");
}

TEST(Quietly, KeepsOutputOfOtherThreads) {
  constexpr int kThreads = 4, kLines = 20000;
  const std::string line = "a line of another thread that is none of ours\n";
  const Caught caught;
  {
    const WithoutSchemaErrors silence;
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&] {
        for (int k = 0; k < kLines; ++k) std::cerr.rdbuf()->sputn(line.data(), std::ssize(line));
      });
  }
  const std::string text = caught.text();
  ASSERT_EQ(text.size(), kThreads * kLines * line.size());
  for (size_t at = 0; at < text.size(); at += line.size())
    ASSERT_EQ(text.substr(at, line.size()), line) << at;
}

}  // namespace
}  // namespace keepbox
