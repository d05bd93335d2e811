// SPDX-License-Identifier: LGPL-2.1-or-later
// Keypoints and embeddings of boxes that a second detector finds in the images of objects, and
// counts of those that filters drop.
#include "gst/metas/boxes.h"
#include "gst/metas/records.h"
#include "tests/gst/frames.h"
#include "tests/tempdir.h"

namespace keepbox::partpoints_test {
namespace {

using test::Buffer;
using test::Harness;
using test::Tensor;

constexpr Size kFrame{320, 240};
constexpr Box kObject{64, 48, 128, 112};

/// Tensors of an image of 64 x 64: a box of 16 x 8 in the middle, with keypoints in two of its
/// corners, and the same with another box.
const Tensor kOne{.values = {32, 32, 16, 8, 0.9f, 24, 28, 1, 40, 36, 1}, .shape = {1, 11, 1}};
const Tensor kTwo{
    .values = {32, 12, 32, 16, 16, 8, 8, 4, 0.9f, 0.8f, 24, 8, 28, 14, 1, 1, 40, 16, 36, 18, 1, 1},
    .shape = {1, 11, 2}};

/// Makes a frame with an object, and the tensors of an image that shows it.
GstBuffer* frame_of(const PictureRecord& place, const Tensor& tensor) {
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
  PartPoints() : PartPoints("detector=yolov8-pose") {}
  explicit PartPoints(const std::string& options)
      : harness_("boxdecode num-classes=1 " + options,
                 "video/x-raw,format=RGB,width=320,height=240") {}

  /// Returns the parts on the frame after the decoder.
  std::vector<FrameBox> parts(const PictureRecord& place, const Tensor& tensor = kOne) {
    out_ = harness_.run(frame_of(place, tensor));
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
  const auto found = parts(kTurned, kTwo);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].box, (Box{92, 72, 100, 88}));
  EXPECT_EQ(points(found[0]), (std::vector<Keypoint>{{100, 72, 1}, {92, 88, 1}}));
  EXPECT_EQ(found[1].box, (Box{110, 56, 114, 64}));
  EXPECT_EQ(points(found[1]), (std::vector<Keypoint>{{114, 56, 1}, {110, 64, 1}}));
}

class PartEmbeddings : public test::TempDir, public PartPoints {
 protected:
  PartEmbeddings()
      : PartPoints("detector=" +
                   write("parts.detector",
                         "[detector]\nbase=yolov8\npayload=embedding\npayload-count=6\n")) {}
};

TEST_F(PartEmbeddings, StayTheSame) {
  for (const PictureRecord& place : {kUpright, kTurned}) {
    const auto found = parts(place);
    ASSERT_EQ(found.size(), 1u);
    const auto values = found[0].values.values;
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()),
              (std::vector<float>{24, 28, 1, 40, 36, 1}));
  }
}

class PartsElsewhere : public PartPoints {
 protected:
  PartsElsewhere() : PartPoints("detector=yolov8-pose regions=0,0,32,32") {}
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
