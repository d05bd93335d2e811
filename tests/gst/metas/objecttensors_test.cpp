// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors of objects: which images belong to them, and their length.
#include "gst/metas/objecttensors.h"

#include <cstring>

#include "gst/metas/boxes.h"
#include "gst/metas/records.h"
#include "gst/tensors/provenance.h"
#include "tests/gst/frames.h"

namespace keepbox {
namespace {

using test::Buffer;

constexpr guint64 kProducer = 7;

/// Attaches a tensor of objects with that many images, each of one value, its number.
void attach_images(GstBuffer* frame, size_t images) {
  std::vector<float> values(images);
  for (size_t i = 0; i < images; ++i) values[i] = static_cast<float>(i);
  GstBuffer* data = test::data_buffer(values.data(), images * sizeof(float));
  set_provenance(data, std::make_shared<const TensorProvenance>(
                           TensorProvenance{.producer = kProducer, .objects = true}));
  add_tensor(frame, "x", DataType::kFloat32, {images, 1}, GST_TENSOR_DIM_ORDER_ROW_MAJOR, data);
}

TEST(ObjectTensors, LeaveOutObjectsWithoutAnImage) {
  const Buffer frame = test::empty_frame();
  FrameBox boxes[] = {{.box = {0, 0, 4, 4}, .score = 0.5f}, {.box = {4, 4, 8, 8}, .score = 0.5f}};
  ASSERT_TRUE(attach_boxes(frame.get(), boxes, {.frame = {8, 8}}));
  const auto on = test::boxes(frame);
  ASSERT_EQ(on.size(), 2u);
  const PictureRecord records[] = {{.od_id = on[0].od_id, .image = 3},
                                   {.od_id = on[1].od_id, .image = 1}};
  auto* meta = gst_buffer_get_analytics_relation_meta(frame.get());
  add_pictures(meta, kProducer, records);
  GstAnalyticsTrackingMtd no_box;
  gst_analytics_relation_meta_add_tracking_mtd(meta, 1, 0, &no_box);
  const PictureRecord other[] = {{.od_id = no_box.id, .image = 0}};
  add_pictures(meta, kProducer, other);
  attach_images(frame.get(), 2);
  const auto found = read_object_tensors(frame.get());
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().od_id, on[1].od_id);
  float value = 0;
  std::memcpy(&value, found->front().data.data(), sizeof value);
  EXPECT_EQ(value, 1);
  EXPECT_TRUE(read_object_tensors(frame.get(), kProducer + 1)->empty());
}

TEST(ObjectTensors, GetALengthOfOne) {
  for (const float factor : {0.01f, 1.0f, 100.0f}) {
    const float values[] = {3 * factor, -4 * factor};
    ObjectTensor tensor{.shape = {1, 2}, .data = std::vector<uint8_t>(sizeof values)};
    std::memcpy(tensor.data.data(), values, sizeof values);
    normalize_l2(tensor);
    float made[2];
    std::memcpy(made, tensor.data.data(), sizeof made);
    EXPECT_FLOAT_EQ(made[0], 0.6f);
    EXPECT_FLOAT_EQ(made[1], -0.8f);
  }
}

ObjectTensor normalized(DataType type, std::vector<uint8_t> data) {
  ObjectTensor out{.type = type, .shape = {1, 2}, .data = std::move(data)};
  normalize_l2(out);
  return out;
}

TEST(ObjectTensors, GetALengthOfOneAsFloats) {
  const ObjectTensor halves = normalized(DataType::kFloat16, {0, 0x42, 0, 0x44});  // 3 and 4
  EXPECT_EQ(halves.type, DataType::kFloat32);
  ASSERT_EQ(halves.data.size(), 8u);
  EXPECT_FLOAT_EQ(load(halves.view(), 0), 0.6f);
  EXPECT_FLOAT_EQ(load(halves.view(), 1), 0.8f);
  EXPECT_EQ(normalized(DataType::kUInt8, {3, 4}).data, (std::vector<uint8_t>{3, 4})) << "classes";
  EXPECT_EQ(normalized(DataType::kFloat16, {0, 0, 0, 0}).type, DataType::kFloat16) << "no length";
  EXPECT_EQ(normalized(DataType::kFloat16, {0, 0x7c, 0, 0}).type, DataType::kFloat16) << "infinity";
}

}  // namespace
}  // namespace keepbox
