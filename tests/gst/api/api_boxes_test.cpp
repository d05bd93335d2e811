// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes of frames, read by the C API.

#include "gst/metas/boxes.h"
#include "gst/metas/masks.h"
#include "gst/metas/records.h"
#include "gst/tensors/provenance.h"
#include "tests/gst/api/api.h"

namespace keepbox {
namespace {

using test::api_boxes;
using test::Buffer;

TEST(Api, ReadsBoxesOfOtherDecodersAndTrackers) {
  Buffer frame = test::empty_frame();
  auto* meta = gst_buffer_add_analytics_relation_meta(frame.get());
  GstAnalyticsODMtd od;
  GstAnalyticsTrackingMtd track;
  gst_analytics_relation_meta_add_od_mtd(meta, 0, 10, 20, 30, 40, 0.5f, &od);
  gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("other"), 1, 2, 3, 4, 0.25f,
                                         &od);
  gst_analytics_relation_meta_add_tracking_mtd(meta, G_MAXUINT64, 0, &track);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, od.id, track.id);
  const auto want = test::boxes(frame);
  const auto boxes = api_boxes(frame);
  frame.reset();  // boxes do not depend on the buffer
  test::expect_same(boxes, want);
  EXPECT_EQ(keepbox_box_get_class_id(boxes[0]), -1);
  EXPECT_EQ(keepbox_box_get_label(boxes[0]), nullptr);
  EXPECT_FALSE(keepbox_box_get_tracking_id(boxes[0], nullptr));
  guint64 id = 0;
  EXPECT_TRUE(keepbox_box_get_tracking_id(boxes[1], &id));
  EXPECT_EQ(id, G_MAXUINT64);
  EXPECT_EQ(keepbox_box_get_od_id(boxes[1]), od.id);
}

TEST(Api, HasTheParentOfParts) {
  Buffer frame = test::empty_frame();
  FrameBox list[] = {{.box = {10, 20, 40, 41}, .class_id = 1, .anchor = 2},
                     {.box = {12, 22, 20, 30}, .class_id = 1, .anchor = 3, .parent = 0}};
  ASSERT_TRUE(attach_boxes(frame.get(), list, {}));
  const auto boxes = api_boxes(frame);
  guint parent = 9;
  EXPECT_FALSE(keepbox_box_get_parent(boxes[0], &parent));
  EXPECT_EQ(parent, 0u);
  parent = 9;
  EXPECT_TRUE(keepbox_box_get_parent(boxes[1], &parent));
  EXPECT_EQ(parent, keepbox_box_get_od_id(boxes[0]));
}

/// Makes two boxes: one with keypoints and a mask of 3 x 2, and one without.
Buffer with_parts() {
  static constexpr Keypoint kPoints[] = {{1.5f, 2, 0.25f}, {-3, 4, 1}};
  static constexpr Edge kEdges[] = {{0, 1}};
  static constexpr uint32_t kPixels[] = {0b001, 0b011};
  Buffer frame = test::empty_frame();
  const Mask pixels{kPixels, 1, 0, 3, 2, {10.5f, 20, 40, 40.25f}};
  const MaskBuffers masks = make_mask_buffers(std::span(&pixels, 1));
  FrameBox list[] = {{.box = {10, 20, 40, 41}, .score = 0.5f, .class_id = 1, .anchor = 2},
                     {.box = {1, 2, 3, 4}, .score = 0.25f, .class_id = 1, .anchor = 3}};
  list[0].keypoints = {kPoints, kEdges, g_quark_from_string("pair")};
  list[0].mask = masks[0];
  EXPECT_TRUE(attach_boxes(frame.get(), list, {}));
  return frame;
}

void expect_parts(const KeepboxBox* box) {
  gsize values = 0, numbers = 0, stride = 0;
  const gfloat* points = keepbox_box_get_points(box, &values);
  EXPECT_EQ(std::vector<gfloat>(points, points + values),
            (std::vector<gfloat>{1.5f, 2, 0.25f, -3, 4, 1}));
  const guint8* edges = keepbox_box_get_edges(box, &numbers);
  EXPECT_EQ(std::vector<int>(edges, edges + numbers), (std::vector{0, 1}));
  EXPECT_STREQ(keepbox_box_get_points_name(box), "pair");
  guint width = 0, height = 0;
  const guint8* mask = keepbox_box_get_mask(box, &width, &height, &stride);
  EXPECT_EQ(std::tuple(width, height, stride), std::tuple(3u, 2u, gsize{3}));
  EXPECT_EQ(std::vector<int>(mask, mask + 6), (std::vector{1, 0, 0, 1, 1, 0}));
  g_autoptr(GBytes) bytes = keepbox_box_dup_mask(box, &width, &height);
  EXPECT_EQ(g_bytes_get_size(bytes), 6u);
  gfloat x = 0, y = 0, w = 0, h = 0;
  EXPECT_TRUE(keepbox_box_get_mask_rect(box, &x, &y, &w, &h));
  EXPECT_EQ(std::tuple(x, y, w, h), std::tuple(10.5f, 20.0f, 29.5f, 20.25f));
}

TEST(Api, PointsAndMasksOutliveTheBuffer) {
  Buffer frame = with_parts();
  const auto boxes = api_boxes(frame);
  guint count = 0;
  g_autofree KeepboxBox** own = keepbox_buffer_dup_boxes(frame.get(), &count);
  frame.reset();
  ASSERT_EQ(boxes.size(), 2u);
  ASSERT_EQ(count, 2u);
  g_autoptr(KeepboxBox) copy = keepbox_box_copy(boxes[0]);
  for (const KeepboxBox* box :
       {boxes[0], static_cast<const KeepboxBox*>(own[0]), static_cast<const KeepboxBox*>(copy)})
    expect_parts(box);
  gsize values = 1;
  EXPECT_EQ(keepbox_box_get_points(boxes[1], &values), nullptr);
  EXPECT_EQ(values, 0u);
  EXPECT_EQ(keepbox_box_get_anchor(boxes[1]), 3);
  for (guint i = 0; i < count; ++i) keepbox_box_free(own[i]);
}

/// Rows with padding between them.
TEST(Api, PacksTheRowsOfForeignMasks) {
  const Buffer frame = test::empty_frame();
  auto* meta = gst_buffer_add_analytics_relation_meta(frame.get());
  GstAnalyticsODMtd od;
  GstAnalyticsSegmentationMtd segmentation;
  gst_analytics_relation_meta_add_od_mtd(meta, 0, 10, 20, 30, 40, 0.5f, &od);
  const guint8 rows[8] = {1, 0, 9, 9, 0, 1, 9, 9};
  GstBuffer* mask = gst_buffer_new_memdup(rows, sizeof rows);
  gst_buffer_add_video_meta(mask, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 2, 2);
  guint regions[] = {0, 1};
  gst_analytics_relation_meta_add_segmentation_mtd(meta, mask, GST_SEGMENTATION_TYPE_INSTANCE, 2,
                                                   regions, 10, 20, 30, 40, &segmentation);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, od.id,
                                           segmentation.id);
  const auto boxes = api_boxes(frame);
  ASSERT_EQ(boxes.size(), 1u);
  gsize stride = 0;
  const guint8* packed = keepbox_box_get_mask(boxes[0], nullptr, nullptr, &stride);
  EXPECT_EQ(stride, 2u);
  EXPECT_EQ(std::vector<int>(packed, packed + 4), (std::vector{1, 0, 0, 1}));
}

/// Text of a full record is not followed by a zero byte in the meta.
TEST(Api, HasTheAttributesOfBoxesAndFrames) {
  Buffer frame = test::empty_frame();
  EXPECT_EQ(keepbox_buffer_get_n_attributes(frame.get()), 0u);
  FrameBox list[] = {{.box = {10, 20, 40, 41}, .class_id = 1, .anchor = 2}};
  ASSERT_TRUE(attach_boxes(frame.get(), list, {}));
  const std::string longest(kMaxLabelText, 'x');
  add_labels(gst_buffer_get_analytics_relation_meta(frame.get()), {0, g_quark_from_string("text")},
             std::vector<ObjectLabel>{{list[0].od_id, G_MAXUINT, 0, 0.5f, "KB 1"},
                                      {kWholeFrame, G_MAXUINT, 0, 0.25f, longest}});
  const auto boxes = api_boxes(frame);
  ASSERT_EQ(keepbox_box_get_n_attributes(boxes[0]), 1u);
  const gchar* name = nullptr;
  gfloat level = 0;
  EXPECT_STREQ(keepbox_box_get_attribute(boxes[0], 0, &name, &level), "KB 1");
  EXPECT_STREQ(name, "text");
  EXPECT_EQ(level, 0.5f);
  ASSERT_EQ(keepbox_buffer_get_n_attributes(frame.get()), 1u);
  name = nullptr;
  g_autofree gchar* text = keepbox_buffer_get_attribute(frame.get(), 0, &name, &level);
  EXPECT_EQ(std::string(text), longest);
  EXPECT_STREQ(name, "text");
  EXPECT_EQ(level, 0.25f);
  EXPECT_EQ(keepbox_buffer_get_attribute(frame.get(), 1, nullptr, nullptr), nullptr);
  EXPECT_EQ(keepbox_box_get_attribute(boxes[0], 1, nullptr, nullptr), nullptr);
}

TEST(Api, BufferWithoutMetaHasNoBoxes) {
  guint count = 1;
  EXPECT_EQ(keepbox_buffer_get_boxes(nullptr, &count), nullptr);
  EXPECT_EQ(count, 0u);
  count = 1;
  g_autofree KeepboxBox** none = keepbox_buffer_dup_boxes(test::empty_frame().get(), &count);
  EXPECT_EQ(count, 0u);
}

TEST(Api, HasEachSideOfARectangleAlone) {
  Buffer frame = test::empty_frame();
  FrameBox list[] = {{.box = {1, 2, 11, 42}}};
  ASSERT_TRUE(attach_boxes(frame.get(), list, {}));
  const auto boxes = api_boxes(frame);
  gfloat x = 0, y = 0, width = 0, height = 0;
  keepbox_box_get_rect(boxes[0], &x, nullptr, nullptr, nullptr);
  keepbox_box_get_rect(boxes[0], nullptr, &y, nullptr, nullptr);
  keepbox_box_get_rect(boxes[0], nullptr, nullptr, &width, nullptr);
  keepbox_box_get_rect(boxes[0], nullptr, nullptr, nullptr, &height);
  EXPECT_EQ(std::tuple(x, y, width, height), std::tuple(1.0f, 2.0f, 10.0f, 40.0f));
}

/// Returns the values of a box's tensor, its name and its model.
std::string tensor_text(const KeepboxBox* box, guint index) {
  const gchar *name = nullptr, *model = nullptr;
  gsize count = 99;
  const gfloat* values = keepbox_box_get_tensor(box, index, &name, &model, &count);
  EXPECT_EQ(values == nullptr, count == 0);
  std::string out =
      std::string(name != nullptr ? name : "?") + " of " + (model != nullptr ? model : "?") + ":";
  for (gsize i = 0; i < count; ++i) out += " " + std::to_string(static_cast<int>(values[i]));
  return out;
}

TEST(Api, HasTheTensorsOfObjects) {
  Buffer frame = test::empty_frame();
  FrameBox list[] = {{.box = {0, 0, 4, 4}}, {.box = {4, 4, 8, 8}}, {.box = {2, 2, 4, 4}}};
  ASSERT_TRUE(attach_boxes(frame.get(), list, {}));
  const auto on = test::boxes(frame);
  constexpr guint64 kProducer = 7;
  const PictureRecord records[] = {{.od_id = on[0].od_id, .image = 0},
                                   {.od_id = on[2].od_id, .image = 1}};
  add_pictures(gst_buffer_get_analytics_relation_meta(frame.get()), kProducer, records);
  constexpr float kValues[] = {1, 2, 3, 4, 5, 6};
  GstBuffer* data = test::data_buffer(kValues, sizeof kValues);
  set_provenance(data, std::make_shared<const TensorProvenance>(TensorProvenance{
                           .producer = kProducer, .model = "faces", .objects = true}));
  add_tensor(frame.get(), "embedding", DataType::kFloat32, {2, 3}, GST_TENSOR_DIM_ORDER_ROW_MAJOR,
             data);
  const auto boxes = api_boxes(frame);
  frame.reset();  // boxes do not depend on the buffer
  ASSERT_EQ(boxes.size(), 3u);
  EXPECT_EQ(keepbox_box_get_n_tensors(boxes[0]), 1u);
  EXPECT_EQ(keepbox_box_get_n_tensors(boxes[1]), 0u);
  EXPECT_EQ(keepbox_box_get_n_tensors(boxes[2]), 1u);
  EXPECT_EQ(tensor_text(boxes[0], 0), "embedding of faces: 1 2 3");
  EXPECT_EQ(tensor_text(boxes[2], 0), "embedding of faces: 4 5 6");
  EXPECT_EQ(tensor_text(boxes[2], 1), "? of ?:");
  gsize count = 0;
  EXPECT_NE(keepbox_box_get_tensor(boxes[0], 0, nullptr, nullptr, &count), nullptr);
  EXPECT_EQ(count, 3u);
}

}  // namespace
}  // namespace keepbox
