// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors in analytics metas (GstAnalyticsTensorMtd), decoded like those in GstTensorMeta.
#include "tests/gst/recording/numbered.h"
#include "tests/gst/tensormtds.h"

namespace keepbox {
namespace {

using test::attach_mtd;
using test::boxes;
using test::Buffer;
using test::empty_frame;
using test::Harness;
using test::Tensor;

class TensorMtd : public test::WithTensorMtds {};

Tensor rows_of(const std::string& id, const test::Row& row) {
  Tensor out = test::rows({row});
  out.id = id;
  return out;
}

const test::Row kCat{10, 20, 30, 40, 0.9f, 1}, kDog{50, 60, 90, 100, 0.8f, 2};

std::vector<uint32_t> classes(const Buffer& out) {
  std::vector<uint32_t> found;
  for (const FrameBox& box : boxes(out)) found.push_back(box.class_id.value_or(99));
  return found;
}

GstAnalyticsODMtd add_object(GstBuffer* frame) {
  GstAnalyticsODMtd od;
  gst_analytics_relation_meta_add_od_mtd(gst_buffer_add_analytics_relation_meta(frame), 0, 1, 2, 30,
                                         40, 0.5f, &od);
  return od;
}

TEST_F(TensorMtd, IsDecoded) {
  for (const char* id : {"yolo-26-end2end-out", "output0", ""}) {
    Buffer frame = empty_frame();
    attach_mtd(frame.get(), rows_of(id, kCat));
    Harness h("boxdecode");
    const Buffer out = h.run(frame.release());
    ASSERT_TRUE(out) << id << h.error();
    ASSERT_EQ(boxes(out).size(), 1u) << id;
    EXPECT_EQ(boxes(out)[0].box, (Box{10, 20, 30, 40})) << id;
  }
}

TEST_F(TensorMtd, IsFoundByIdNextToATensorMeta) {
  for (const bool meta_first : {true, false}) {
    Buffer frame = empty_frame();
    attach_mtd(frame.get(), rows_of(meta_first ? "b" : "a", meta_first ? kDog : kCat));
    test::attach(frame.get(), rows_of(meta_first ? "a" : "b", meta_first ? kCat : kDog));
    Harness h(
        "boxdecode detector=yolov10 tensor-ids=a ! "
        "boxdecode detector=yolov10 tensor-ids=b");
    const Buffer out = h.run(frame.release());
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(classes(out), (std::vector<uint32_t>{1, 2}));
  }
}

TEST_F(TensorMtd, CompletesTheTensorsOfAModelInATensorMeta) {
  Buffer frame = empty_frame();
  test::attach(frame.get(), {{10, 20, 30, 40}, {1, 1, 4}, "detr-boxes"});
  attach_mtd(frame.get(), {{0.9f}, {1, 1}, "detr-scores"});
  attach_mtd(frame.get(), {{3}, {1, 1}, "detr-labels"});
  Harness h("boxdecode");
  const Buffer out = h.run(frame.release());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(classes(out), (std::vector<uint32_t>{3}));
}

TEST_F(TensorMtd, IsDecodedOnce) {
  for (const char* id : {"yolo-26-end2end-out", "output0", ""}) {
    Buffer frame = empty_frame();
    attach_mtd(frame.get(), rows_of(id, kCat));
    Harness h("boxdecode ! boxdecode");
    EXPECT_FALSE(h.run(frame.release())) << id;
    EXPECT_NE(h.error().find("were decoded upstream"), std::string::npos) << id;
  }
}

TEST_F(TensorMtd, IsDecodedOnceIfBothMetasHaveItsData) {
  Buffer frame = empty_frame();
  const Tensor tensor = rows_of("", kCat);
  GstBuffer* data = test::data_buffer(tensor.values.data(), test::bytes_of(tensor));
  attach_mtd(frame.get(), tensor, gst_buffer_ref(data));
  add_tensor(frame.get(), "", DataType::kFloat32, tensor.shape, GST_TENSOR_DIM_ORDER_ROW_MAJOR,
             data);
  FrameTensors tensors;
  ASSERT_TRUE(tensors.list_tensors(frame.get()));
  EXPECT_EQ(tensors.listed().size(), 1u);
}

TEST_F(TensorMtd, OfAnObjectIsSkipped) {
  for (const bool to_object : {true, false}) {
    Buffer frame = empty_frame();
    const GstAnalyticsODMtd od = add_object(frame.get());
    const GstAnalyticsMtd mtd = attach_mtd(frame.get(), rows_of("", kCat));
    gst_analytics_relation_meta_set_relation(
        od.meta, to_object ? GST_ANALYTICS_REL_TYPE_IS_PART_OF : GST_ANALYTICS_REL_TYPE_CONTAIN,
        to_object ? mtd.id : od.id, to_object ? od.id : mtd.id);
    attach_mtd(frame.get(), rows_of("", kDog));
    Harness h("boxdecode");
    const Buffer out = h.run(frame.release());
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(classes(out), (std::vector<uint32_t>{99, 2}));  // the object that was there, and ours
  }
}

TEST_F(TensorMtd, WithoutDataIsAnError) {
  Buffer frame = empty_frame();
  const GstAnalyticsMtd mtd = attach_mtd(frame.get(), rows_of("yolo-26-end2end-out", kCat));
  auto* tensor =
      static_cast<GstTensor*>(gst_analytics_relation_meta_get_mtd_data(mtd.meta, mtd.id));
  gst_clear_buffer(&tensor->data);
  Harness h("boxdecode");
  EXPECT_FALSE(h.run(frame.release()));
  const std::string error = h.error();
  EXPECT_NE(error.find("yolo-26-end2end-out 1x1x6 float32 cannot be mapped"), std::string::npos)
      << error;
}

TEST_F(TensorMtd, IsRecordedAndReplayed) {
  const test::TempDir dir;
  const std::string folder = dir / "recording";
  {
    Harness h("tensorrecord location=" + folder);
    Buffer frame = empty_frame();
    attach_mtd(frame.get(), rows_of("first", kCat));
    test::attach(frame.get(), rows_of("second", kDog));
    ASSERT_TRUE(h.run(frame.release())) << h.error();
    gst_harness_push_event(h.get(), gst_event_new_eos());
    EXPECT_EQ(h.warning(), "");
  }
  Harness h("identity ! tensorreplay sync-mode=count location=" + folder +
            " ! boxdecode detector=yolov10 tensor-ids=first ! "
            "boxdecode detector=yolov10 tensor-ids=second");
  const Buffer out = h.run(empty_frame().release());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(classes(out), (std::vector<uint32_t>{1, 2}));
}

}  // namespace
}  // namespace keepbox
