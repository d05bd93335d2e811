// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames and tensors that exceed memory: an element error, and the process survives.
#include <sys/resource.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "gst/infer/onnx/runtime.h"
#include "tests/gst/frames.h"
#include "tests/onnxmodels.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

constexpr size_t kAnchors = 84, kRows = 4 + 2 + 8, kMap = 16;  // of a 64x64 input

/// One box over the whole input, with a mask of its half.
GstBuffer* one_mask() {
  test::Tensor boxes{std::vector<float>(kRows * kAnchors), {1, kRows, kAnchors}, "boxes"};
  const float numbers[kRows] = {32, 32, 64, 64, 0.9f, 0, 1};
  for (size_t row = 0; row < kRows; ++row) boxes.values[row * kAnchors + 5] = numbers[row];
  test::Tensor maps{std::vector<float>(8 * kMap * kMap, -1), {1, 8, kMap, kMap}, "maps"};
  for (size_t i = 0; i < kMap * kMap / 2; ++i) maps.values[i] = 1;
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
  test::attach(frame, boxes);
  test::attach(frame, maps);
  return frame;
}

/// Limits this process to `more` additional bytes.
void allow(size_t more) {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t all = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + more;
  const rlimit limit{all, all};
  setrlimit(RLIMIT_AS, &limit);
}

/// Runs in a separate process, which exits with 0 if the error names the missing memory.
[[noreturn]] void decode_masks(const char* side, size_t more, const char* word) {
  test::Harness h("boxdecode detector=yolov8-seg mask-size=frame",
                  "video/x-raw,format=GRAY8,width=" + std::string(side) + ",height=" + side);
  allow(more);
  const test::Buffer out = h.run(one_mask());
  const std::string error = h.error();
  std::fprintf(stderr, "flow %d, error: %s\n", h.flow, error.c_str());
  const bool right = *word == '\0' ? h.flow == GST_FLOW_OK && error.empty()
                                   : h.flow == GST_FLOW_ERROR && error.contains(word);
  std::_Exit(right ? 0 : 1);
}

/// Likewise, for a model with an input of `side` pixels per side.
[[noreturn]] void infer(int64_t side, size_t more, const char* word) {
  const test::TempDir dir;
  const std::string model =
      dir.write("model.onnx", test::identity_model({1, 3, side, side}).file());
  if (!OnnxRuntime::load()) std::_Exit(2);
  allow(more);
  const std::string error = test::play(
      "videotestsrc num-buffers=1 ! video/x-raw,format=RGB,width=64,height=64 ! tensorinfer "
      "provider=cpu threads=1 model-file=" +
      model + " ! fakesink");
  std::fprintf(stderr, "error: %s\n", error.c_str());
  std::filesystem::remove_all(dir.path());  // skips destructors
  std::_Exit(*word == '\0' ? !error.empty() : !error.contains(word));
}

class NoMemory : public testing::Test {
 protected:
  NoMemory() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

constexpr size_t kMega = size_t{1} << 20;

TEST_F(NoMemory, SmallFrameSucceeds) {
  EXPECT_EXIT(decode_masks("640", 64 * kMega, ""), testing::ExitedWithCode(0), "flow 0");
}

TEST_F(NoMemory, MaskOfAHugeFrameIsAnError) {
  EXPECT_EXIT(decode_masks("16384", 16 * kMega, "Not enough memory for"),
              testing::ExitedWithCode(0), "max-detections");
}

/// Memory suffices for the bits of the mask, but not for their copy in the frame's meta.
TEST_F(NoMemory, MasksAttachedToAHugeFrameAreAnError) {
  EXPECT_EXIT(decode_masks("16384", 64 * kMega, "memory for the masks"), testing::ExitedWithCode(0),
              "max-detections");
}

TEST_F(NoMemory, InputOfAHugeModelIsAnError) {
  if (!OnnxRuntime::load()) GTEST_SKIP() << "no ONNX Runtime";
  EXPECT_EXIT(infer(64, 700 * kMega, ""), testing::ExitedWithCode(0), "error: ");
  EXPECT_EXIT(infer(8192, 700 * kMega, "memory for 805306368 bytes"), testing::ExitedWithCode(0),
              "input-size=");
}

}  // namespace
}  // namespace keepbox
