// SPDX-License-Identifier: LGPL-2.1-or-later
// Tiles of frames: their inputs, their boxes on the frame, and recordings of them.
#include <array>

#include "tests/gst/infer/infer.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::has_box;
using test::identity_model;
using test::Numbers;
using test::painted;
using test::patches;
using test::raw;
using test::Rect;
using test::tensor_of;

class InferTiles : public test::Inference {
 protected:
  std::string identity(const std::string& more, const char* batch = nullptr) {
    const auto first = batch != nullptr ? test::onnx::Dim(batch) : test::onnx::Dim(1);
    return infer(identity_model({first, 3, 48, 64}),
                 "input-mean=0 input-std=1 channel-order=rgb resize-mode=stretch " + more);
  }
  std::string detector(const std::string& more) {
    return infer(test::ultralytics_like({64, 64}), more) + " ! boxdecode name=decode";
  }
};

/// Returns the part of a paint that begins there.
test::Paint part(const test::Paint& whole, int left, int top) {
  return [=](int x, int y) { return whole(x + left, y + top); };
}

/// A tile's input is that of a frame with its pixels, whatever the format.
TEST_F(InferTiles, SeeWhatACroppedFrameShows) {
  for (const auto& [format, halved] : {std::pair{"RGB", false},
                                       {"BGRx", false},
                                       {"Y444", false},
                                       {"GRAY8", false},
                                       {"I420", true},
                                       {"NV12", true},
                                       {"YUY2", true}}) {
    Harness tiled(identity("tiles=2x2@0.25"), raw(format, 222, 146));
    const Numbers all = tensor_of(tiled.run(painted(raw(format, 222, 146), test::noise)));
    ASSERT_EQ(all.dims, (std::vector<size_t>{4, 3, 48, 64})) << format << tiled.error();
    const size_t each = all.values.size() / 4;
    // The side of tiles is enlarged so that the last one begins at a whole chroma sample.
    const int width = halved ? 128 : 127, left = 222 - width, top = 62;
    const std::pair<int, int> places[] = {{0, 0}, {left, 0}, {0, top}, {left, top}};
    for (size_t i = 0; i < 4; ++i) {
      const auto [x, y] = places[i];
      Harness cropped(identity(""), raw(format, width, 84));
      const Numbers alone =
          tensor_of(cropped.run(painted(raw(format, width, 84), part(test::noise, x, y))));
      const std::vector<float> got(all.values.begin() + ptrdiff_t(i * each),
                                   all.values.begin() + ptrdiff_t((i + 1) * each));
      EXPECT_EQ(got, alone.values) << format << " tile " << i;
    }
  }
}

TEST_F(InferTiles, AreTheSameInBatchesOfAnySize) {
  const std::string caps = raw("RGB", 200, 150);
  const std::string tiles = "tiles=3x2+whole ";
  Harness alone(identity(tiles), caps);
  const Numbers want = tensor_of(alone.run(painted(caps, test::noise)));
  ASSERT_EQ(want.dims[0], 7u) << alone.error();
  for (const char* more : {"batch-size=7", "batch-size=4", "batch-size=2", "batch-size=64"}) {
    Harness batched(identity(tiles + more, "N"), caps);
    for (int i = 0; i < 3; ++i) {
      const Numbers got = tensor_of(batched.run(painted(caps, test::noise)));
      EXPECT_EQ(got.dims, want.dims) << more << batched.error();
      EXPECT_EQ(got.values, want.values) << more;
    }
  }
}

TEST_F(InferTiles, HaveTheirBoxesOnTheFrame) {
  const std::string caps = raw("RGB", 256, 128);
  const auto paint = patches({200, 70, 232, 102}, {100, 20, 140, 52});
  Harness h(detector("tiles=4x2"), caps);
  const Buffer out = h.run(painted(caps, paint));
  ASSERT_TRUE(out) << h.error();
  EXPECT_TRUE(has_box(out, "disc", {200, 70, 232, 102}, 4));
  EXPECT_TRUE(has_box(out, "bar", {100, 20, 140, 52}, 4));
}

TEST_F(InferTiles, FollowTheFrameThroughAScaler) {
  const std::string caps = raw("RGB", 256, 128);
  const auto paint = patches({100, 35, 116, 51});
  Harness h("framesave ! videoscale ! video/x-raw,width=512,height=256 ! " +
                infer(test::ultralytics_like({64, 64}), "tiles=8x4") +
                " ! framerestore ! boxdecode",
            caps);
  const Buffer out = h.run(painted(caps, paint));
  ASSERT_TRUE(out) << h.error();
  EXPECT_TRUE(has_box(out, "disc", {100, 35, 116, 51}, 3));
}

TEST_F(InferTiles, FollowChangesOfTheFramesSize) {
  Harness h(detector("tiles=64"), raw("RGB", 256, 128));
  Buffer out = h.run(painted(raw("RGB", 256, 128), patches({200, 70, 232, 102})));
  ASSERT_TRUE(out) << h.error();
  EXPECT_TRUE(has_box(out, "disc", {200, 70, 232, 102}, 4));
  h.set_caps(raw("RGB", 100, 64));
  out = h.run(painted(raw("RGB", 100, 64), patches({60, 10, 92, 42})));
  ASSERT_TRUE(out) << h.error();
  EXPECT_TRUE(has_box(out, "disc", {60, 10, 92, 42}, 4));
  h.set_caps(raw("RGB", 50, 40));  // smaller than a tile
  out = h.run(painted(raw("RGB", 50, 40), patches({10, 10, 30, 30})));
  ASSERT_TRUE(out) << h.error();
}

TEST_F(InferTiles, AreRecordedAndReplayed) {
  const std::string caps = raw("RGB", 256, 128), folder = dir_ / "recording";
  const auto paint = patches({200, 70, 232, 102}, {100, 20, 140, 52});
  const std::string model = infer(test::ultralytics_like({64, 64}), "tiles=4x2");
  std::vector<Box> want;
  {
    Harness h(model + " ! tensorrecord location=" + folder + " ! boxdecode", caps);
    const Buffer out = h.run(painted(caps, paint));
    ASSERT_TRUE(out) << h.error();
    for (const FrameBox& each : test::boxes(out)) want.push_back(each.box);
    gst_harness_push_event(h.get(), gst_event_new_eos());
  }
  ASSERT_FALSE(want.empty());
  Harness h("identity ! tensorreplay loop=true location=" + folder + " ! boxdecode", caps);
  const Buffer out = h.run(painted(caps, paint));
  ASSERT_TRUE(out) << h.error();
  std::vector<Box> got;
  for (const FrameBox& each : test::boxes(out)) got.push_back(each.box);
  EXPECT_EQ(got, want);
}

/// A model of dynamic size is fitted to the tiles; the whole frame has another shape.
TEST_F(InferTiles, OfTheLeastPaddingTakeTheWholeFrameToo) {
  const std::string caps = raw("I420", 640, 360);
  for (const char* tiles : {"tiles=1x4", "tiles=4x2"}) {
    Harness h(infer(identity_model({1, 3, "h", "w"}),
                    std::string("input-size=640 resize-mode=rect ") + tiles + "+whole"),
              caps);
    const Numbers all = tensor_of(h.run(painted(caps, test::noise)));
    EXPECT_EQ(all.dims[0], std::string(tiles) == "tiles=1x4" ? 5u : 9u) << h.error();
  }
}

TEST_F(InferTiles, RefuseMoreThanTheFrameCanHave) {
  Harness h(identity("tiles=4"), raw("RGB", 256, 128));
  EXPECT_FALSE(h.run(painted(raw("RGB", 256, 128), test::grey)));
  EXPECT_NE(h.error().find("more than 64 tiles"), std::string::npos);
}

}  // namespace
}  // namespace keepbox
