// SPDX-License-Identifier: LGPL-2.1-or-later
// The filter of ONNX Runtime's lines about schemas.
#include "gst/infer/onnx/runtime.h"

#include <gtest/gtest.h>

#include <iostream>
#include <sstream>
#include <thread>

namespace keepbox {
namespace {

/// Takes what is written to std::cerr.
class SchemaLines : public testing::Test {
 protected:
  SchemaLines() : before_(std::cerr.rdbuf(written_.rdbuf())) {}
  ~SchemaLines() override { std::cerr.rdbuf(before_); }

  std::ostringstream written_;
  std::streambuf* before_;
};

TEST_F(SchemaLines, AreDroppedWithTheEmptyLineAfterEach) {
  {
    const WithoutSchemaLines filter;
    std::cerr << "first\n\n";
    std::cerr << "Schema " << "error: Abs" << std::endl << '\n' << "Schema error: Add\n\n\n";
    std::cerr << "A Schema error\nSchema error: And\nSchema error: ArgMax\nlast, ";
    EXPECT_EQ(written_.str(), "first\n\n\nA Schema error\n");
  }
  EXPECT_EQ(written_.str(), "first\n\n\nA Schema error\nlast, ");
  EXPECT_EQ(std::cerr.rdbuf(), written_.rdbuf());
  std::cerr << "Schema error\n";
  EXPECT_TRUE(written_.str().ends_with("last, Schema error\n"));
}

TEST_F(SchemaLines, OfOtherThreadsPassAtOnce) {
  const WithoutSchemaLines filter;
  std::cerr << "Schema err";
  std::thread([] { std::cerr << "Schema error: mine\n\n" << "no line"; }).join();
  std::cerr << "or\n";
  EXPECT_EQ(written_.str(), "Schema error: mine\n\nno line");
}

TEST_F(SchemaLines, NeedNoBuffer) {
  std::cerr.rdbuf(nullptr);
  {
    const WithoutSchemaLines filter;
    EXPECT_EQ(std::cerr.rdbuf(), nullptr) << "the application has silenced it";
    std::cerr << "Schema err";
  }
  EXPECT_EQ(std::cerr.rdbuf(), nullptr);
}

TEST_F(SchemaLines, StreamsThatWereSetMeanwhileStay) {
  std::ostringstream other;
  {
    const WithoutSchemaLines filter;
    std::cerr.rdbuf(other.rdbuf());
  }
  EXPECT_EQ(std::cerr.rdbuf(), other.rdbuf());
}

}  // namespace
}  // namespace keepbox
