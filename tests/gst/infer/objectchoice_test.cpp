// SPDX-License-Identifier: LGPL-2.1-or-later
// Objects of frames that a model runs on: by class, size and score, again after a while, and the
// regions of others.
#include "gst/infer/objects.h"
#include "tests/gst/infer/objectframes.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::Harness;
using test::InferObjects;
using test::noise;
using test::painted;

void track(GstBuffer* frame, guint od_id, guint64 id) {
  auto* meta = gst_buffer_get_analytics_relation_meta(frame);
  GstAnalyticsTrackingMtd mtd;
  gst_analytics_relation_meta_add_tracking_mtd(meta, id, 0, &mtd);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, od_id, mtd.id);
}

/// Runs a frame whose first object has a tracking id. @param in transfer full
Buffer run_tracked(Harness& h, GstBuffer* in) {
  std::vector<FrameBox> boxes;
  read_boxes(in, boxes);
  track(in, boxes[0].od_id, 7);
  return h.run(in);
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
  EXPECT_EQ(lefts("include-classes=dog grow=2"), (Lefts{30}));
  EXPECT_EQ(lefts("include-classes=cat"), Lefts{});
  EXPECT_EQ(lefts("include-classes=\"!car, !truck\""), (Lefts{40}));
  EXPECT_EQ(lefts("include-classes=car,truck,!truck min-size=10"), (Lefts{0, 80}));
  EXPECT_EQ(lefts("objects-of=other"), Lefts{});
}

TEST_F(InferObjects, AreTheBestOfAFrameWithMany) {
  std::vector<FrameBox> boxes;
  for (unsigned i = 0; i < kMaxObjects + 3; ++i) {
    const auto left = static_cast<float>(i);
    boxes.push_back(object({left, 0, left + 20, 20}, "car", 0.9f - 0.01f * left));
  }
  std::ranges::reverse(boxes);
  Harness h(identity(""), caps_);
  const auto found = pictures(h.run(frame(boxes)));
  ASSERT_EQ(found.size(), kMaxObjects) << h.error();
  for (const PictureRecord& each : found) EXPECT_LT(each.origin.x, kMaxObjects);
}

TEST_F(InferObjects, AreRunAgainNowAndThen) {
  Harness h(identity("reinfer=3"), caps_);
  std::vector<size_t> images;
  for (int i = 0; i < 7; ++i) {
    const Buffer out =
        run_tracked(h, frame({object({10, 20, 74, 68}), object({90, 60, 154, 108})}));
    ASSERT_TRUE(out) << h.error();
    images.push_back(pictures(out).size());
  }
  EXPECT_EQ(images, (std::vector<size_t>{2, 1, 1, 2, 1, 1, 2}));
}

TEST_F(InferObjects, AreRunAgainWhenTheyGrow) {
  Harness h(identity("reinfer=0,1.5"), caps_);
  std::vector<size_t> images;
  for (const float side : {20.f, 24.f, 25.f, 30.f, 31.f, 10.f, 40.f}) {
    const Buffer out = run_tracked(h, frame({object({10, 20, 10 + side, 20 + side})}));
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

/// Trackers of two models give the same ids.
TEST_F(InferObjects, AreOfOneModel) {
  Objects objects({.again_every = 0});
  const CropPlan plan{.frame = {.size = {kWidth, kHeight}}, .input = {.size = {8, 8}}};
  std::vector<size_t> runs;
  for (const char* model : {"one", "two", "one", "two"}) {
    FrameBox box = object({10, 20, 74, 68});
    box.model = g_quark_from_string(model);
    Buffer in(frame({box}));
    track(in.get(), 0, 7);
    runs.push_back(objects.of(in.get(), plan, ResizeMode::kStretch)->size());
  }
  EXPECT_EQ(runs, (std::vector<size_t>{1, 1, 0, 0}));
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
  ASSERT_TRUE(tensors.map_all(MemorySpace::kSystem));
  EXPECT_TRUE(tensors.select_image(0));
  EXPECT_FALSE(tensors.select_image(1)) << "they are not split";
  for (size_t i = 0; i < 2; ++i) {
    const auto found = read_pictures(out.get(), tensors.source(i)->producer);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].origin.x, 50);
    EXPECT_EQ(found[1].origin.x, 90);
  }
}

class InferRegions : public InferObjects {
 protected:
  /// Returns the boxes of a frame after a model with regions=roi.
  std::vector<FrameBox> boxes_with_regions(GstBuffer* in) {
    const std::string line = identity("");
    Harness h(std::string(line).replace(line.find("regions=objects"), 15, "regions=roi"), caps_);
    const Buffer out = h.run(in);
    EXPECT_TRUE(out) << h.error();
    std::vector<FrameBox> boxes;
    if (out) read_boxes(out.get(), boxes, nullptr, {kWidth, kHeight});
    return boxes;
  }
};

/// Most producers leave ids of regions at 0, which is also the id of the first box.
TEST_F(InferRegions, MayHaveNoId) {
  GstBuffer* in = frame({object({0, 0, 40, 40})});
  const gchar* label = g_quark_to_string(object({}).label);
  gst_buffer_add_video_region_of_interest_meta(in, label, 1, 1, 38, 38);  // of that box
  gst_buffer_add_video_region_of_interest_meta(in, label, 90, 60, 64, 48);
  const std::vector<FrameBox> boxes = boxes_with_regions(in);
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[1].box, (Box{90, 60, 154, 108}));
}

TEST_F(InferRegions, ThatOverlapABoxAreOfIt) {
  struct Case {
    Box box;
    guint x, y, width, height;
  };
  for (const Case& each :
       {Case{{60, 0, 100, 20}, 10, 5, 80, 10}, Case{{0, 60, 20, 100}, 5, 10, 10, 80}}) {
    GstBuffer* in = frame({object(each.box)});
    gst_buffer_add_video_region_of_interest_meta(in, g_quark_to_string(object({}).label), each.x,
                                                 each.y, each.width, each.height);
    EXPECT_EQ(boxes_with_regions(in).size(), 1u);
  }
}

TEST_F(InferObjects, DoNotWaitForRegions) {
  const std::string line = identity("");
  Harness h(std::string(line).replace(line.find("regions=objects"), 15, "regions=roi"), caps_);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(h.run(painted(caps_, noise))) << h.error();
  EXPECT_EQ(h.warning(), "");
}

}  // namespace
}  // namespace keepbox
