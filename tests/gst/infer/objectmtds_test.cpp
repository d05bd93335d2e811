// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors of objects as mtds that are part of them (tensor-mtd=true).
#include <algorithm>

#include "gst/metas/boxes.h"
#include "gst/metas/objecttensors.h"
#include "gst/tensors/tensors.h"
#include "tests/gst/infer/infer.h"

namespace keepbox::objectmtds_test {
namespace {

using test::Buffer;
using test::Harness;
using test::painted;

constexpr int kWidth = 160, kHeight = 120;
const std::string kScene = test::raw("RGB", kWidth, kHeight);

FrameBox object(Box box) {
  return {
      .box = box, .score = 0.5f, .label = g_quark_from_string("car"), .class_id = 0, .anchor = 0};
}

/// Makes a frame with two objects, of which the second has a red patch, and that many mtds that
/// are no boxes.
GstBuffer* scene(gsize others = 0) {
  GstBuffer* out = painted(kScene, test::patches({104, 72, 128, 88}));
  GstAnalyticsRelationMetaInitParams params{others + 10, 1 << 20};
  auto* meta = gst_buffer_add_analytics_relation_meta_full(out, &params);
  FrameBox objects[] = {object({10, 20, 74, 84}), object({90, 50, 154, 114})};
  EXPECT_TRUE(attach_boxes(out, objects, {.frame = {kWidth, kHeight}}));
  for (gsize i = 0; i < others; ++i) {
    GstAnalyticsClsMtd cls;
    EXPECT_TRUE(gst_analytics_relation_meta_add_one_cls_mtd(meta, 0.5f, 1, &cls));
  }
  return out;
}

/// Returns the tensor mtds of a frame.
std::vector<GstAnalyticsMtd> mtds_on(const Buffer& out) {
  std::vector<GstAnalyticsMtd> found;
  auto* meta = gst_buffer_get_analytics_relation_meta(out.get());
  gpointer state = nullptr;
  GstAnalyticsMtd mtd;
  while (meta != nullptr && iterate_tensor_mtds(meta, &state, &mtd)) found.push_back(mtd);
  return found;
}

/// Returns the boxes with their parents and labels as text.
std::string text_of(const Buffer& out) {
  std::string text;
  for (const FrameBox& box : test::boxes(out)) {
    text += std::to_string(box.box.x1) + ' ' + std::to_string(box.box.y2) + ' ' +
            std::to_string(box.score) + ' ' + std::to_string(box.parent.value_or(99));
    for (const BoxLabel& label : box.labels) text += ' ' + std::string(label.text);
    text += '\n';
  }
  return text;
}

/// Tests that are skipped before GStreamer 1.28.
class ObjectMtds : public test::Inference {
 protected:
  void SetUp() override {
    test::Inference::SetUp();
    if (!IsSkipped() && !has_tensor_mtds())
      GTEST_SKIP() << "GstAnalyticsTensorMtd came with GStreamer 1.28";
  }
  std::string identity(const std::string& more) {
    return infer(test::identity_model({test::onnx::Dim("N"), 3, 64, 64}),
                 "regions=objects input-mean=0 input-std=1 channel-order=rgb " + more);
  }
};

TEST_F(ObjectMtds, ArePartOfTheirObject) {
  for (const char* more : {"tensor-mtd=true", "tensor-mtd=true batch-size=4"}) {
    Harness h(identity(more), kScene);
    const Buffer out = h.run(scene());
    ASSERT_TRUE(out) << h.error();
    const auto tensors = read_object_tensors(out.get());
    ASSERT_TRUE(tensors);
    const auto found = mtds_on(out);
    ASSERT_EQ(found.size(), 2u);
    for (size_t i = 0; i < found.size(); ++i) {
      const GstTensor& tensor = *tensor_of_mtd(found[i]);
      const ObjectTensor& want = (*tensors)[i];
      EXPECT_STREQ(g_quark_to_string(tensor.id), "output");
      EXPECT_EQ(tensor.data_type, GST_TENSOR_DATA_TYPE_FLOAT32);
      EXPECT_EQ(tensor.dims_order, GST_TENSOR_DIM_ORDER_ROW_MAJOR);
      EXPECT_EQ(std::vector<size_t>(tensor.dims, tensor.dims + tensor.num_dims),
                (std::vector<size_t>{1, 3, 64, 64}));
      ASSERT_EQ(gst_buffer_get_size(tensor.data), want.data.size());
      EXPECT_EQ(gst_buffer_memcmp(tensor.data, 0, want.data.data(), want.data.size()), 0);
      auto* meta = found[i].meta;
      EXPECT_EQ(gst_analytics_relation_meta_get_relation(meta, want.od_id, found[i].id),
                GST_ANALYTICS_REL_TYPE_CONTAIN);
      EXPECT_EQ(gst_analytics_relation_meta_get_relation(meta, found[i].id, want.od_id),
                GST_ANALYTICS_REL_TYPE_IS_PART_OF);
    }
    EXPECT_NE((*tensors)[0].data, (*tensors)[1].data) << "the objects look the same";
    EXPECT_EQ(h.warning(), "");
  }
}

TEST_F(ObjectMtds, AreNotThereUnlessTheyAreWanted) {
  Harness h(identity(""), kScene);
  EXPECT_TRUE(mtds_on(h.run(scene())).empty());
}

/// Every output of the model is one more mtd of each object.
TEST_F(ObjectMtds, AreOfOneModelEach) {
  Harness h(identity("tensor-mtd=true name=one") + " ! " + identity("tensor-mtd=true name=two"),
            kScene);
  const Buffer out = h.run(scene());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(mtds_on(out).size(), 4u);
}

/// Decoders read the frame's tensors as before, once.
TEST_F(ObjectMtds, AreNotDecoded) {
  const auto decoded = [&](const std::string& more) {
    Harness h(infer(test::ultralytics_like({64, 64}), "regions=objects " + more) + " ! boxdecode",
              kScene);
    const Buffer out = h.run(scene());
    EXPECT_TRUE(out) << h.error();
    EXPECT_EQ(mtds_on(out).empty(), more.empty());
    const auto left = read_object_tensors(out.get());
    EXPECT_TRUE(left && left->empty());
    return text_of(out);
  };
  const std::string with = decoded("tensor-mtd=true");
  EXPECT_EQ(with, decoded(""));
  EXPECT_EQ(std::ranges::count(with, '\n'), 3) << "two objects, one of them with a part: " << with;
}

TEST_F(ObjectMtds, AreNotTensorsOfTheFrame) {
  const std::string on_frame = infer(test::ultralytics_like({64, 64}), "resize-mode=stretch");
  const auto boxes = [&](const std::string& first) {
    Harness h(first + " ! " + on_frame + " ! boxdecode ! boxdecode model-name=again", kScene);
    const Buffer out = h.run(scene());
    return (out ? text_of(out) : "") + h.error();
  };
  // The second decoder takes the tensors of objects, which are there once.
  const std::string of_objects = infer(test::ultralytics_like({64, 64}), "regions=objects ");
  EXPECT_EQ(boxes(of_objects + "tensor-mtd=true"), boxes(of_objects));
}

TEST_F(ObjectMtds, FollowTheirObjectThroughAScaler) {
  Harness h(
      "framesave ! videoscale ! video/x-raw,width=80,height=60 ! identity name=put "
      "signal-handoffs=true ! " +
          identity("tensor-mtd=true") + " ! framerestore",
      kScene);
  g_autoptr(GstElement) put = gst_bin_get_by_name(h.bin(), "put");
  const auto add = +[](GstElement*, GstBuffer* buffer, gpointer) {
    std::vector<FrameBox> boxes{object({5, 10, 37, 34})};
    EXPECT_TRUE(attach_boxes(buffer, boxes, {.frame = {80, 60}}));
  };
  g_signal_connect(put, "handoff", G_CALLBACK(add), nullptr);
  const Buffer out = h.run(painted(kScene, test::noise));
  ASSERT_TRUE(out) << h.error();
  const auto found = mtds_on(out);
  ASSERT_EQ(found.size(), 1u);
  GstAnalyticsMtd od;
  gpointer state = nullptr;
  EXPECT_TRUE(gst_analytics_relation_meta_get_direct_related(
      found[0].meta, found[0].id, GST_ANALYTICS_REL_TYPE_IS_PART_OF,
      gst_analytics_od_mtd_get_mtd_type(), &state, &od));
  FrameTensors tensors;
  ASSERT_TRUE(tensors.list_tensors(out.get()));
  EXPECT_EQ(tensors.listed().size(), 1u);
}

TEST_F(ObjectMtds, AreLeftOutIfAFrameIsFull) {
  Harness h(identity("tensor-mtd=true"), kScene);
  for (int i = 0; i < 2; ++i) {
    const Buffer out = h.run(scene(kMaxMtds - 5));  // 2 objects, their records and pictures
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(mtds_on(out).size(), 1u);
  }
  EXPECT_NE(h.warning().find("include-classes="), std::string::npos);
  EXPECT_EQ(h.warning(), "");
}

class ObjectMtdsMissing : public test::Inference {};

TEST_F(ObjectMtdsMissing, AreAnErrorBefore128) {
  if (has_tensor_mtds()) GTEST_SKIP() << "GStreamer has GstAnalyticsTensorMtd";
  const std::string error =
      test::play("videotestsrc num-buffers=1 ! " +
                 infer(test::identity_model({1, 3, 64, 64}), "regions=objects tensor-mtd=true") +
                 " ! fakesink");
  test::expect_words(error, {"tensor-mtd=true is not possible", "1.28", "boxsink"});
}

TEST_F(ObjectMtdsMissing, AreAnErrorOnWholeFrames) {
  const std::string error =
      test::play("videotestsrc num-buffers=1 ! " +
                 infer(test::identity_model({1, 3, 64, 64}), "tensor-mtd=true") + " ! fakesink");
  test::expect_words(error, {"tensor-mtd has no effect with regions=frame", "regions=objects"});
}

}  // namespace
}  // namespace keepbox::objectmtds_test
