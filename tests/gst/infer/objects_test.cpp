// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures that models get of the objects of frames, and the tensors that they leave.
#include "gst/metas/objecttensors.h"
#include "tests/gst/infer/objectframes.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::InferObjects;
using test::noise;
using test::Numbers;
using test::painted;
using test::tensor_of;

/// Returns the pixels of a part of 64 x 48 of the frame.
std::vector<float> part(int left, int top) {
  return test::planes([=](int x, int y) { return noise(x + left, y + top); }, 64, 48,
                      {64, 48, {0, 0, 64, 48}});
}

std::vector<float> image_of(const Numbers& all, size_t image) {
  const size_t each = all.values.size() / all.dims[0];
  return {all.values.begin() + ptrdiff_t(image * each),
          all.values.begin() + ptrdiff_t((image + 1) * each)};
}

TEST_F(InferObjects, SeeTheirPartOfTheFrame) {
  for (const char* more : {"", "batch-size=4", "batch-size=2"}) {
    Harness h(identity(more, *more == 0 ? nullptr : "N"), caps_);
    const Buffer out = h.run(
        frame({object({10, 20, 74, 68}), object({90, 60, 154, 108}), object({0, 0, 64, 48})}));
    ASSERT_TRUE(out) << h.error();
    const Numbers all = tensor_of(out);
    ASSERT_EQ(all.dims, (std::vector<size_t>{3, 3, 48, 64})) << more;
    EXPECT_EQ(image_of(all, 0), part(10, 20)) << more;
    EXPECT_EQ(image_of(all, 1), part(90, 60)) << more;
    EXPECT_EQ(image_of(all, 2), part(0, 0)) << more;
    const auto found = pictures(out);
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[1].image, 1u);
    EXPECT_EQ(found[1].origin.x, 90);
    EXPECT_EQ(found[1].down.y, 108);
  }
}

TEST_F(InferObjects, HaveNoTensorsOnFramesWithout) {
  Harness h(identity(""), caps_);
  for (int i = 0; i < 2; ++i) {
    const Buffer out = h.run(frame({}));
    ASSERT_TRUE(out) << h.error();
    EXPECT_TRUE(test::tensors_of(out.get()).empty());
  }
  EXPECT_EQ(tensor_of(h.run(frame({object({10, 20, 74, 68})}))).dims[0], 1u);
}

/// Frames of an analysis that found nothing are not without boxes.
TEST_F(InferObjects, WarnOfManyFramesWithoutAnAnalysis) {
  Harness h(identity(""), caps_);
  const auto warns_after = [&](int frames) {
    for (int i = 0; i < frames; ++i) EXPECT_TRUE(h.run(painted(caps_, noise))) << h.error();
    for (std::string text = h.warning(); !text.empty(); text = h.warning())
      if (text.contains("regions=objects found no boxes on 30 frames")) return true;
    return false;
  };
  EXPECT_FALSE(warns_after(29));
  EXPECT_TRUE(h.run(frame({}))) << h.error();
  EXPECT_FALSE(warns_after(29));
  EXPECT_TRUE(warns_after(1));
  EXPECT_FALSE(warns_after(31)) << "once";
}

/// A tracker after the model sees that the frame was analysed.
TEST_F(InferObjects, LeaveFramesWithoutThemAnalysed) {
  Harness h(identity("") + " ! boxtrack predict=true", caps_);
  h.run(frame({object({10, 20, 74, 68})}));
  const Buffer out = h.run(frame({}));
  ASSERT_TRUE(out) << h.error();
  EXPECT_TRUE(test::boxes(out).empty());
}

TEST_F(InferObjects, FollowTheirFrameThroughAScaler) {
  Harness h(
      "framesave ! videoscale ! capsfilter caps=video/x-raw,width=80,height=60 ! identity "
      "name=put signal-handoffs=true ! " +
          identity("") + " ! framerestore",
      caps_);
  g_autoptr(GstElement) put = gst_bin_get_by_name(h.bin(), "put");
  const auto add = +[](GstElement*, GstBuffer* buffer, gpointer) {
    std::vector<FrameBox> boxes{object({5, 10, 37, 34})};
    EXPECT_TRUE(attach_boxes(buffer, boxes, {.frame = {80, 60}}));
  };
  g_signal_connect(put, "handoff", G_CALLBACK(add), nullptr);
  const Buffer out = h.run(painted(caps_, noise));
  ASSERT_TRUE(out) << h.error();
  const auto found = pictures(out);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FLOAT_EQ(found[0].origin.x, 10);
  EXPECT_FLOAT_EQ(found[0].right.x, 74);
}

/// Tensors that no element decodes are read object by object.
TEST_F(InferObjects, KeepTheirTensors) {
  Harness h(identity("batch-size=4", "N"), caps_);
  const Buffer whole = h.run(frame({object({10, 20, 74, 68}), object({90, 60, 154, 108})}));
  ASSERT_TRUE(whole) << h.error();
  auto found = read_object_tensors(whole.get());
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  const ObjectTensor& second = (*found)[1];
  EXPECT_EQ(second.od_id, 1u);
  EXPECT_EQ(second.id, "output");
  EXPECT_EQ(second.model, "model");
  EXPECT_EQ(second.shape, (Shape{1, 3, 48, 64}));
  const std::vector<float> want = part(90, 60);
  for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(load(second.view(), i), want[i]) << i;
  ObjectTensor unit = second;
  normalize_l2(unit);
  double length = 0;
  for (size_t i = 0; i < want.size(); ++i) length += std::pow(load(unit.view(), i), 2);
  EXPECT_NEAR(length, 1, 1e-5);
  EXPECT_GT(load(unit.view(), 0) * want[0], 0);
}

TEST_F(InferObjects, HaveNoTensorsLeftThatWereDecoded) {
  Harness h(infer(test::ultralytics_like({64, 64}), "regions=objects") + " ! boxdecode", caps_);
  const Buffer out = h.run(frame({object({10, 20, 74, 68})}));
  ASSERT_TRUE(out) << h.error();
  const auto found = read_object_tensors(out.get());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), 0u);
}

TEST_F(InferObjects, WarnWithoutADecoder) {
  Harness h(identity(""), caps_);
  for (int i = 0; i < 40; ++i) h.run(painted(caps_, noise));
  EXPECT_NE(h.warning().find("boxdecode"), std::string::npos);
  EXPECT_EQ(h.warning(), "");
}

/// Five points of a face that is turned by 90 degrees are brought to the template.
TEST_F(InferObjects, AreAlignedByTheirKeypoints) {
  const std::string file = dir_.write("points.txt", "64 48\n16 10\n48 10\n32 40\n");
  Harness h(identity("align=" + file), caps_);
  const std::vector<Keypoint> points{{71, 31, 1}, {71, 63, 1}, {41, 47, 1}};
  FrameBox face = object({40, 30, 80, 80});
  face.keypoints.points = points;
  const Buffer out = h.run(frame({object({0, 0, 20, 20}), face}));
  ASSERT_TRUE(out) << h.error();
  const Numbers all = tensor_of(out);
  ASSERT_EQ(all.dims[0], 1u);  // the first object has no keypoints
  // Keypoint 0 is at the centre of the input's pixel 16, 10, and x of the input is y of the frame.
  for (int v = 5; v < 40; ++v)
    for (int u = 10; u < 50; ++u) {
      const double x = 71 - (v - 10), y = 31 + (u - 16);
      const float want = test::blended(noise, kWidth, kHeight, x - 0.5, y - 0.5, 1);
      ASSERT_NEAR(all.values[size_t(48 * 64 + v * 64 + u)], want, 0.01f) << u << " " << v;
    }
}

TEST_F(InferObjects, HaveATemplateForFaces) {
  Harness h(identity("align=arcface-112"), caps_);
  const std::vector<Keypoint> points{
      {50, 40, 1}, {70, 40, 1}, {60, 50, 1}, {52, 62, 1}, {68, 62, 1}};
  FrameBox face = object({40, 30, 80, 80});
  face.keypoints.points = points;
  const Buffer out = h.run(frame({face}));
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(pictures(out).size(), 1u);
}

}  // namespace
}  // namespace keepbox
