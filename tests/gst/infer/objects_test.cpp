// SPDX-License-Identifier: LGPL-2.1-or-later
// Models that run on the objects of frames: what they see, and which objects are chosen.
#include "gst/infer/objects/objects.h"
#include "gst/metas/attachboxes.h"
#include "gst/metas/objecttensors.h"
#include "gst/metas/records/picturerecords.h"
#include "tests/gst/infer/infer.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::identity_model;
using test::noise;
using test::Numbers;
using test::painted;
using test::raw;
using test::tensor_of;

FrameBox object(Box box, const char* label = "car", float score = 0.5f) {
  return {
      .box = box, .score = score, .label = g_quark_from_string(label), .class_id = 0, .anchor = 0};
}

void track(GstBuffer* frame, guint od_id, guint64 id) {
  auto* meta = gst_buffer_get_analytics_relation_meta(frame);
  GstAnalyticsTrackingMtd mtd;
  gst_analytics_relation_meta_add_tracking_mtd(meta, id, 0, &mtd);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, od_id, mtd.id);
}

class InferObjects : public test::Inference {
 protected:
  static constexpr int kWidth = 160, kHeight = 120;
  const std::string caps_ = raw("RGB", kWidth, kHeight);

  std::string identity(const std::string& more, const char* batch = nullptr) {
    const auto first = batch != nullptr ? test::onnx::Dim(batch) : test::onnx::Dim(1);
    return infer(identity_model({first, 3, 48, 64}),
                 "regions=objects input-mean=0 input-std=1 channel-order=rgb " + more);
  }

  GstBuffer* frame(std::vector<FrameBox> boxes) {
    GstBuffer* out = painted(caps_, noise);
    EXPECT_TRUE(attach_boxes(out, boxes, {.frame = {kWidth, kHeight}}));
    return out;
  }

  /// Returns the records of the only tensor's producer.
  static std::vector<PictureRecord> pictures(const Buffer& out) {
    FrameTensors tensors;
    EXPECT_TRUE(tensors.list_tensors(out.get()));
    if (tensors.listed().size() != 1) return {};
    return read_pictures(out.get(), tensors.source(0)->producer);
  }
};

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

TEST_F(InferObjects, AreChosenByClassSizeAndScore) {
  const std::vector<FrameBox> boxes{
      object({0, 0, 20, 20}, "car", 0.3f), object({20, 0, 28, 40}, "car", 0.9f),
      object({40, 0, 60, 20}, "dog", 0.9f), object({60, 0, 80, 20}, "truck", 0.8f),
      object({80, 0, 100, 20}, "car", 0.7f)};
  const auto lefts = [&](const std::string& more) {
    Harness h(identity(more), caps_);
    std::vector<float> out;
    for (const PictureRecord& each : pictures(h.run(frame(boxes)))) out.push_back(each.origin.x);
    return out;
  };
  using Lefts = std::vector<float>;
  EXPECT_EQ(lefts("include-classes=\"car, truck\" min-size=10"), (Lefts{0, 60, 80}));
  EXPECT_EQ(lefts("max-objects=2"), (Lefts{20, 40}));
  EXPECT_EQ(lefts("include-classes=dog grow=2"), (Lefts{30}));
  EXPECT_EQ(lefts("include-classes=cat"), Lefts{});
  EXPECT_EQ(lefts("objects-of=other"), Lefts{});
}

TEST_F(InferObjects, AreRunAgainNowAndThen) {
  Harness h(identity("again-every=3"), caps_);
  std::vector<size_t> images;
  for (int i = 0; i < 7; ++i) {
    GstBuffer* in = frame({object({10, 20, 74, 68}), object({90, 60, 154, 108})});
    std::vector<FrameBox> boxes;
    read_boxes(in, boxes);
    track(in, boxes[0].od_id, 7);
    const Buffer out = h.run(in);
    ASSERT_TRUE(out) << h.error();
    images.push_back(pictures(out).size());
  }
  EXPECT_EQ(images, (std::vector<size_t>{2, 1, 1, 2, 1, 1, 2}));
}

TEST_F(InferObjects, AreRunAgainWhenTheyGrow) {
  Harness h(identity("again-every=0 again-growth=1.5"), caps_);
  std::vector<size_t> images;
  for (const float side : {20.f, 24.f, 25.f, 30.f, 31.f, 10.f, 40.f}) {
    GstBuffer* in = frame({object({10, 20, 10 + side, 20 + side})});
    std::vector<FrameBox> boxes;
    read_boxes(in, boxes);
    track(in, boxes[0].od_id, 7);
    const Buffer out = h.run(in);
    ASSERT_TRUE(out) << h.error();
    images.push_back(pictures(out).size());
  }
  EXPECT_EQ(images, (std::vector<size_t>{1, 0, 1, 0, 1, 0, 1})) << "areas 400, 625, 961, 1600";
}

/// An object that stays is not taken for a new one, however long.
TEST_F(InferObjects, AreRunOnceIfWanted) {
  Objects objects({.again_every = 0});
  const CropPlan plan{.frame = {.size = {kWidth, kHeight}}, .input = {.size = {8, 8}}};
  Buffer in(frame({object({10, 20, 74, 68})}));
  std::vector<FrameBox> boxes;
  read_boxes(in.get(), boxes);
  track(in.get(), boxes[0].od_id, 7);
  size_t runs = 0;
  for (int i = 0; i < 2500; ++i) runs += objects.of(in.get(), plan, ResizeMode::kStretch)->size();
  EXPECT_EQ(runs, 1u);
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

/// Regions get a box each, once; boxes of boxdecode are not for regions=roi.
TEST_F(InferObjects, AreRegionsOfOthers) {
  GstBuffer* in = frame({object({0, 0, 40, 40})});
  auto* meta = gst_buffer_get_analytics_relation_meta(in);
  GstAnalyticsODMtd od;
  gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("car"), 50, 10, 20, 30, 0.5f,
                                         &od);
  gst_buffer_add_video_region_of_interest_meta(in, "car", 50, 10, 20, 30);  // of that box
  gst_buffer_add_video_region_of_interest_meta(in, "sign", 0, 0, 0, 10);
  auto* region = gst_buffer_add_video_region_of_interest_meta(in, "sign", 90, 60, 64, 48);
  region->id = 7;
  gst_video_region_of_interest_meta_add_param(
      region, gst_structure_new("detection", "confidence", G_TYPE_DOUBLE, 0.75, nullptr));
  const std::string again = identity("", "N");
  const size_t at = again.find("regions=objects");
  const std::string line = std::string(again).replace(at, 15, "regions=roi");
  Harness h(line + " name=one ! " + line + " name=two", caps_);
  const Buffer out = h.run(in);
  ASSERT_TRUE(out) << h.error();
  std::vector<FrameBox> boxes;
  read_boxes(out.get(), boxes, nullptr, {kWidth, kHeight});
  ASSERT_EQ(boxes.size(), 3u);
  EXPECT_EQ(boxes[2].box, (Box{90, 60, 154, 108}));
  EXPECT_EQ(boxes[2].label, g_quark_from_string("sign"));
  EXPECT_EQ(boxes[2].score, 0.75f);
  FrameTensors tensors;
  ASSERT_TRUE(tensors.list_tensors(out.get()));
  ASSERT_EQ(tensors.listed().size(), 2u);
  EXPECT_FALSE(tensors.select_image(0)) << "none is mapped";
  for (size_t i = 0; i < 2; ++i) {
    const auto found = read_pictures(out.get(), tensors.source(i)->producer);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].origin.x, 50);
    EXPECT_EQ(found[1].origin.x, 90);
  }
}

/// Most producers leave ids of regions at 0, which is also the id of the first box.
TEST_F(InferObjects, AreRegionsWithoutAnId) {
  GstBuffer* in = frame({object({0, 0, 40, 40})});
  const gchar* label = g_quark_to_string(object({}).label);
  gst_buffer_add_video_region_of_interest_meta(in, label, 1, 1, 38, 38);  // of that box
  gst_buffer_add_video_region_of_interest_meta(in, label, 90, 60, 64, 48);
  const std::string line = identity("");
  Harness h(std::string(line).replace(line.find("regions=objects"), 15, "regions=roi"), caps_);
  const Buffer out = h.run(in);
  ASSERT_TRUE(out) << h.error();
  std::vector<FrameBox> boxes;
  read_boxes(out.get(), boxes, nullptr, {kWidth, kHeight});
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[1].box, (Box{90, 60, 154, 108}));
}

TEST_F(InferObjects, DoNotWaitForRegions) {
  const std::string line = identity("");
  Harness h(std::string(line).replace(line.find("regions=objects"), 15, "regions=roi"), caps_);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(h.run(painted(caps_, noise))) << h.error();
  EXPECT_EQ(h.warning(), "");
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
  const Buffer out = h.run(frame({face, object({0, 0, 20, 20})}));
  ASSERT_TRUE(out) << h.error();
  const Numbers all = tensor_of(out);
  ASSERT_EQ(all.dims[0], 1u);  // the other object has no keypoints
  // Keypoint 0 is at the centre of the input's pixel 16, 10, and x of the input is y of the frame.
  for (int v = 5; v < 40; ++v)
    for (int u = 10; u < 50; ++u) {
      const double x = 71 - (v - 10), y = 31 + (u - 16);
      const float want = test::blended(noise, kWidth, kHeight, x - 0.5, y - 0.5, 1);
      ASSERT_NEAR(all.values[size_t(48 * 64 + v * 64 + u)], want, 0.01f) << u << " " << v;
    }
}

}  // namespace
}  // namespace keepbox
