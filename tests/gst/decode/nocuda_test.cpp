// SPDX-License-Identifier: LGPL-2.1-or-later
// CUDA requested on a machine without it: clear errors, and nothing else is affected.
#include <cstdlib>

#include "gst/tensors/cudascope.h"
#include "tests/gst/frames.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::counted;
using test::expect_words;
using test::Harness;
using test::play;

constexpr const char* kHost = "backend=auto";

TEST(WithoutCuda, ForcedBackendIsAnErrorAtTheStart) {
  if (cuda_available()) GTEST_SKIP() << "this machine has CUDA";
  if (find_backend("cuda") == nullptr) GTEST_SKIP() << "this build has no cuda backend";
  for (const char* policy : {"error", "pass"}) {
    const std::string line = std::string(" on-mismatch=") + policy + " ! fakesink";
    expect_words(play("videotestsrc num-buffers=1 ! boxdecode backend=cuda" + line),
                 {"CUDA", kHost});
    setenv("KEEPBOX_BACKEND", "cuda", 1);
    expect_words(play("videotestsrc num-buffers=1 ! boxdecode" + line), {"CUDA", kHost});
    unsetenv("KEEPBOX_BACKEND");
  }
}

TEST(WithoutCuda, ReplayToCudaMemoryIsAnError) {
  if (cuda_available()) GTEST_SKIP() << "this machine has CUDA";
  const test::TempDir dir;
  const std::string path = dir.write("t.raw", std::string(24, '\0'));
  expect_words(
      play("tensorreplay memory=cuda dims=1,1,6 location=" + path + " ! boxdecode ! fakesink"),
      {"CUDA", "memory=system"});
}

TEST(WithoutCuda, AutomaticChoiceIsUnchanged) {
  Harness h("boxdecode device-id=3");
  for (int i = 0; i < 3; ++i) {
    const Buffer out = h.run(test::frame_with({{10, 10, 50, 50, 0.9f, 3}}));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(test::ods(out).size(), 1u);
  }
  EXPECT_NE(test::stat_text(h.element(), "backend"), "cuda");
  for (const char* field : {"zero-copy-frames", "uploaded-frames", "downloaded-frames"})
    EXPECT_EQ(counted(h.element(), field), 0u) << field;
  EXPECT_EQ(h.warning(), "");
}

TEST(WithoutCuda, ContextsAreNotProvided) {
  Harness h("boxdecode");
  GstQuery* query = gst_query_new_context("gst.cuda.context");
  EXPECT_FALSE(gst_element_query(h.element(), query));
  gst_query_unref(query);
  GstContext* other = gst_context_new("somebody.elses", TRUE);
  gst_element_set_context(h.element(), other);
  gst_context_unref(other);
  EXPECT_EQ(h.error(), "");
}

TEST(WithoutCuda, IsAFailureIfRequired) {
  const char* required = std::getenv("KEEPBOX_REQUIRE");
  if (required == nullptr || std::string(required).find("cuda") == std::string::npos)
    GTEST_SKIP() << "KEEPBOX_REQUIRE does not ask for cuda";
  EXPECT_TRUE(cuda_available()) << "no CUDA driver";
  EXPECT_NE(find_backend("cuda"), nullptr) << "no cuda backend in this build";
}

}  // namespace
}  // namespace keepbox
