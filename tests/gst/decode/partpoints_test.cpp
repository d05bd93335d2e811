// SPDX-License-Identifier: LGPL-2.1-or-later
// Keypoints of boxes that a second detector finds in the images of objects, and counts of those
// that filters drop.
#include "gst/metas/attachboxes.h"
#include "gst/metas/records/picturerecords.h"
#include "tests/gst/frames.h"

namespace keepbox::partpoints_test {
namespace {

using test::Buffer;
using test::Harness;
using test::Tensor;

constexpr Size kFrame{320, 240};
constexpr Box kObject{64, 48, 128, 112};

/// Makes a frame with an object, and tensors of an image of 64 x 64 that shows it: a box of 16 x 8
/// in the middle, with keypoints in two of its corners.
GstBuffer* frame_of(const PictureRecord& place) {
  const Tensor tensor{.values = {32, 32, 16, 8, 0.9f, 24, 28, 1, 40, 36, 1}, .shape = {1, 11, 1}};
  GstBuffer* out = gst_buffer_new_allocate(nullptr, 64, nullptr);
  FrameBox objects[] = {{.box = kObject, .score = 0.5f, .label = 1, .class_id = 0, .anchor = 0}};
  EXPECT_TRUE(attach_boxes(out, objects, {.frame = kFrame}));
  constexpr guint64 kProducer = 7;
  add_pictures(gst_buffer_get_analytics_relation_meta(out), kProducer, {&place, 1});
  GstBuffer* data = test::data_buffer(tensor.values.data(), test::bytes_of(tensor));
  set_provenance(data, std::make_shared<const TensorProvenance>(
                           TensorProvenance{.producer = kProducer,
                                            .geometry = {{64, 64}, {64, 64}},
                                            .units = Units::kPixels,
                                            .objects = true}));
  add_tensor(out, "", DataType::kFloat32, tensor.shape, GST_TENSOR_DIM_ORDER_ROW_MAJOR, data);
  return out;
}

/// The image as the frame shows the object, and turned by a quarter, clockwise.
constexpr PictureRecord kUpright{.origin = {64, 48}, .right = {128, 48}, .down = {64, 112}};
constexpr PictureRecord kTurned{.origin = {128, 48}, .right = {128, 112}, .down = {64, 48}};

class PartPoints : public testing::Test {
 protected:
  PartPoints() : PartPoints("") {}
  explicit PartPoints(const std::string& more)
      : harness_("boxdecode detector=yolov8-pose num-classes=1 " + more,
                 "video/x-raw,format=RGB,width=320,height=240") {}

  /// Returns the parts on the frame after the decoder.
  std::vector<FrameBox> parts(const PictureRecord& place) {
    out_ = harness_.run(frame_of(place));
    EXPECT_TRUE(out_) << harness_.error();
    std::vector<FrameBox> found;
    if (out_) read_boxes(out_.get(), found, nullptr, kFrame);
    std::erase_if(found, [](const FrameBox& box) { return !box.parent; });
    return found;
  }

  Harness harness_;
  Buffer out_;  // has the keypoints
};

std::vector<Keypoint> points(const FrameBox& box) {
  return {box.keypoints.points.begin(), box.keypoints.points.end()};
}

TEST_F(PartPoints, MoveToTheFrame) {
  const auto found = parts(kUpright);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].box, (Box{88, 76, 104, 84}));
  EXPECT_EQ(points(found[0]), (std::vector<Keypoint>{{88, 76, 1}, {104, 84, 1}}));
}

TEST_F(PartPoints, TurnWithTheImage) {
  const auto found = parts(kTurned);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].box, (Box{92, 72, 100, 88}));
  EXPECT_EQ(points(found[0]), (std::vector<Keypoint>{{100, 72, 1}, {92, 88, 1}}));
}

class PartsElsewhere : public PartPoints {
 protected:
  PartsElsewhere() : PartPoints("regions=0,0,32,32") {}
};

TEST_F(PartsElsewhere, AreCountedAsFilteredOut) {
  for (const PictureRecord& place : {kUpright, kTurned}) {
    EXPECT_EQ(parts(place).size(), 0u);
    g_autoptr(GstStructure) stats = nullptr;
    g_object_get(harness_.element(), "stats", &stats, nullptr);
    guint dropped = 0;
    EXPECT_TRUE(gst_structure_get_uint(stats, "filtered-out", &dropped));
    EXPECT_EQ(dropped, 1u);
  }
}

}  // namespace
}  // namespace keepbox::partpoints_test
