// SPDX-License-Identifier: LGPL-2.1-or-later
// Error texts in messages.
#include "gst/base/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "core/base/infile.h"

namespace keepbox {
namespace {

TEST(ShownErrors, AreAlwaysUtf8) {
  g_autoptr(GError) error = nullptr;
  set_error(&error, {ErrorKind::kTruncated, "a type in \xff.npy", std::string("'<f\0'", 5),
                     "record it again"});
  EXPECT_STREQ(error->message, "expected a type in \uFFFD.npy, found '<f\uFFFD': record it again");
}

TEST(ShownErrors, HaveNoControlCharacters) {
  g_autoptr(GError) error = nullptr;
  set_error(&error,
            {ErrorKind::kMismatch, "a tensor", "'out\x1b[2J\x7f\u009b', \"a\nb\tc\" \u00e9\u200b"});
  EXPECT_STREQ(error->message,
               "expected a tensor, found 'out\\x1b[2J\\x7f\\x9b', \"a\\nb\\tc\" \u00e9\u200b");
}

TEST(FileErrors, OpeningHasAHintOfItsOwn) {
  const auto hint = [](int code) {
    return opening_hint(std::string("lib.so: ") + g_strerror(code), "install it");
  };
  EXPECT_TRUE(hint(EMFILE).contains("ulimit")) << hint(EMFILE);
  EXPECT_TRUE(hint(ENFILE).contains("system")) << hint(ENFILE);
  EXPECT_TRUE(hint(EACCES).contains("read")) << hint(EACCES);
  EXPECT_EQ(hint(ENOENT), "install it");
}

TEST(FileErrors, WritingHasAHintOfItsOwnIfTooManyFilesAreOpen) {
  const auto hint = [](int code) { return limit_hint(g_strerror(code), "set location="); };
  EXPECT_TRUE(hint(EMFILE).contains("ulimit")) << hint(EMFILE);
  EXPECT_TRUE(hint(ENFILE).contains("system")) << hint(ENFILE);
  EXPECT_EQ(hint(EACCES), "set location=");
}

}  // namespace
}  // namespace keepbox
