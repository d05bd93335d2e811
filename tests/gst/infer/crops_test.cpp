// SPDX-License-Identifier: LGPL-2.1-or-later
// Inputs that show the middle of a frame, and rectangles.
#include "tests/gst/infer/infer.h"
#include "tests/gst/infer/models.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::has_box;
using test::identity_model;
using test::InferModels;
using test::painted;
using test::patches;
using test::raw;
using test::Rect;
using test::tensor_of;

TEST_F(InferModels, RectanglesFollowTheSizeOfFrames) {
  const auto model = test::ultralytics_like({320, 320}, true);
  const std::string line = infer(model, "resize-mode=rect");
  Harness h(line, raw("RGB", 640, 360));
  for (const auto& [width, height, anchors] :
       {std::tuple{640, 360, 1260u}, {360, 640, 1260u}, {640, 640, 2100u}, {640, 360, 1260u}}) {
    const std::string caps = raw("RGB", width, height);
    h.set_caps(caps);
    const Buffer out = h.run(painted(caps, test::grey));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(tensor_of(out).dims, (std::vector<size_t>{1, 6, anchors})) << caps;
  }
  expect_boxes(line + " ! boxdecode", "RGB", 640, 360);
  expect_boxes(line + " ! boxdecode", "BGR", 360, 640);
}

TEST_F(InferModels, RectanglesAreThePixelsOfTheFrame) {
  const auto model = identity_model({"batch", 3, "height", "width"});
  const std::string caps = raw("RGB", 64, 24);
  Harness h(infer(model,
                  "resize-mode=rect channel-order=rgb input-mean=0 input-std=255 "
                  "input-size=64"),
            caps);
  const Buffer out = h.run(painted(caps, test::noise));
  ASSERT_TRUE(out) << h.error();
  const test::Fit fit{64, 32, {0, 4, 64, 28}};
  EXPECT_LT(test::apart(tensor_of(out), test::planes(test::noise, 64, 24, fit)), 0.01f);
}

TEST_F(InferModels, BoxesOfACropComeBackToTheFrame) {
  const std::string line =
      infer(test::ultralytics_like({320, 320}), "resize-mode=crop") + " ! boxdecode";
  const Rect red{200, 60, 320, 180}, blue{360, 200, 470, 300};
  for (const bool wide : {true, false})
    for (const char* format : {"RGB", "BGRx"}) {
      const auto turned = [&](const Rect& r) { return wide ? r : Rect{r.y1, r.x1, r.y2, r.x2}; };
      const std::string caps = wide ? raw(format, 640, 360) : raw(format, 360, 640);
      Harness h(line, caps);
      const Buffer out = h.run(painted(caps, patches(turned(red), turned(blue))));
      ASSERT_TRUE(out) << h.error();
      EXPECT_EQ(boxes(out).size(), 2u) << caps;
      EXPECT_TRUE(has_box(out, "disc", turned(red))) << caps;
      EXPECT_TRUE(has_box(out, "bar", turned(blue))) << caps;
    }
}

TEST_F(InferModels, ObjectsOutsideOfACropAreNotFound) {
  const std::string caps = raw("RGB", 640, 360);  // columns 140 to 500 are seen
  const Rect red{200, 60, 320, 180}, blue{540, 100, 630, 200};
  const auto found = [&](const char* mode) {
    Harness h(infer(test::ultralytics_like({320, 320}), std::string("resize-mode=") + mode) +
                  " ! boxdecode",
              caps);
    const Buffer out = h.run(painted(caps, patches(red, blue)));
    EXPECT_TRUE(out && has_box(out, "disc", red)) << mode << h.error();
    return out ? boxes(out).size() : 0;
  };
  EXPECT_EQ(found("letterbox-center"), 2u);
  EXPECT_EQ(found("crop"), 1u);
}

TEST_F(InferModels, CropRespectsThePixelAspectRatio) {
  const std::string caps = raw("RGB", 320, 360, ",pixel-aspect-ratio=2/1");  // as 640x360
  const Rect red{100, 60, 160, 180}, blue{180, 200, 235, 300};
  Harness h(infer(test::ultralytics_like({320, 320}), "resize-mode=crop") + " ! boxdecode", caps);
  const Buffer out = h.run(painted(caps, patches(red, blue)));
  ASSERT_TRUE(out) << h.error();
  EXPECT_TRUE(has_box(out, "disc", red));
  EXPECT_TRUE(has_box(out, "bar", blue));
}

}  // namespace
}  // namespace keepbox
