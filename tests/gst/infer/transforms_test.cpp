// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes of tensors whose picture is scaled, cropped or flipped between inference and decoding.
#include "tests/gst/infer/infer.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::expect_words;
using test::Harness;
using test::has_box;
using test::has_matrix;
using test::painted;
using test::patches;
using test::raw;
using test::Rect;

constexpr const char* kLetterbox =
    "videoconvertscale ! "
    "capsfilter caps=video/x-raw,width=160,height=160,pixel-aspect-ratio=1/1";
constexpr float kMax = 3;  // pixels that a scaler and the model's cells may move an edge

class InferTransforms : public test::Inference {
 protected:
  std::string model() { return infer(test::ultralytics_like({320, 320})); }

  /// The frame after a line, for a picture of 320x160 with both rectangles.
  Buffer run(const std::string& line) {
    const std::string caps = raw("RGB", 320, 160);
    Harness h(line, caps);
    Buffer out = h.run(painted(caps, patches(red_, blue_)));
    error_ = h.error();
    return out;
  }

  void expect_boxes(const std::string& line, Rect red, Rect blue) {
    const Buffer out = run(line);
    ASSERT_TRUE(out) << line << ": " << error_;
    EXPECT_TRUE(has_box(out, "disc", red, kMax)) << line;
    EXPECT_TRUE(has_box(out, "bar", blue, kMax)) << line;
  }

  Rect red_{96, 24, 176, 88}, blue_{200, 56, 296, 136};
  std::string error_;
};

TEST_F(InferTransforms, PairsGiveTheBoxesOfTheFullFrameInEitherOrder) {
  std::vector<std::string> changes{kLetterbox};
  if (has_matrix()) changes.insert(changes.end(), {"videocrop left=64", "videobox left=-64"});
  for (const std::string& change : changes) {
    const std::string begin = "framesave ! " + change + " ! " + model();
    expect_boxes(begin + " ! boxdecode ! framerestore", red_, blue_);
    expect_boxes(begin + " ! framerestore ! boxdecode", red_, blue_);
  }
}

TEST_F(InferTransforms, ChangesInsideAPairAfterInferenceCount) {
  if (!has_matrix()) GTEST_SKIP() << "tensors do not survive such elements before GStreamer 1.28";
  const std::string begin = "framesave ! " + model() + " ! videocrop left=64";
  expect_boxes(begin + " ! boxdecode ! framerestore", red_, blue_);
  expect_boxes(begin + " ! framerestore ! boxdecode", red_, blue_);
}

TEST_F(InferTransforms, BoxesFollowThePicture) {
  if (!has_matrix()) GTEST_SKIP() << "tensors do not survive such elements before GStreamer 1.28";
  const auto expect_moved = [&](const std::string& change, Rect red, Rect blue) {
    expect_boxes(model() + " ! " + change + " ! boxdecode", red, blue);
    expect_boxes(model() + " ! boxdecode ! " + change, red, blue);
  };
  expect_moved("videocrop left=64", {32, 24, 112, 88}, {136, 56, 232, 136});
  expect_moved("videocrop right=24 bottom=24", red_, {200, 56, 296, 136});
  expect_moved("videobox right=-64 bottom=-32", red_, blue_);
  expect_moved("videobox left=-64", {160, 24, 240, 88}, {264, 56, 360, 136});
  expect_moved(kLetterbox, {48, 52, 88, 84}, {100, 68, 148, 108});
}

TEST_F(InferTransforms, FlipsAreAnErrorOfDecodersAfterThem) {
  if (!has_matrix()) GTEST_SKIP() << "tensors do not survive such elements before GStreamer 1.28";
  const std::string flip = "videoflip method=horizontal-flip";
  for (const std::string& line :
       {model() + " ! " + flip + " ! boxdecode",
        "framesave ! " + flip + " ! " + model() + " ! framerestore ! boxdecode"}) {
    EXPECT_FALSE(run(line)) << line;
    expect_words(error_, {"flipped", "boxdecode"});
  }
  expect_boxes("framesave ! " + flip + " ! " + model() + " ! boxdecode ! framerestore", red_,
               blue_);
}

}  // namespace
}  // namespace keepbox
