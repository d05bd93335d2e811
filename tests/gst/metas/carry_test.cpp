// SPDX-License-Identifier: LGPL-2.1-or-later
// Metas that are carried from one frame to another that shows the same picture.
#include "gst/metas/carry.h"

#include <gst/video/video.h>

#include <cstring>
#include <tuple>

#include "gst/metas/records.h"
#include "tests/gst/metas/parts.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::plain_box;

GstVideoInfo info_of(guint width, guint height) {
  GstVideoInfo out;
  gst_video_info_set_format(&out, GST_VIDEO_FORMAT_RGB, width, height);
  return out;
}

/// Returns a frame of 128 x 128 with the metas of one of 64 x 32, which is stretched.
Buffer stretched(const Buffer& from) {
  Buffer to = test::empty_frame();
  carry_analytics(from.get(), info_of(64, 32), to.get(), info_of(128, 128), PixelMap::scale(2, 4),
                  MovedProvenance{});
  return to;
}

TEST(Carry, MapsNormalizedCoordinatesOfRegions) {
  const Buffer from = test::empty_frame();
  FrameBox box = plain_box({16, 8, 32, 24});
  test::attach(from.get(), std::span(&box, 1), {.regions = true, .frame = {64, 32}});
  const Buffer to = stretched(from);
  auto* region = gst_buffer_get_video_region_of_interest_meta_id(to.get(), 0);
  ASSERT_NE(region, nullptr);
  double x_min = 0, x_max = 0, y_min = 0, y_max = 0;
  ASSERT_TRUE(gst_structure_get(gst_video_region_of_interest_meta_get_param(region, "detection"),
                                "x_min", G_TYPE_DOUBLE, &x_min, "x_max", G_TYPE_DOUBLE, &x_max,
                                "y_min", G_TYPE_DOUBLE, &y_min, "y_max", G_TYPE_DOUBLE, &y_max,
                                nullptr));
  EXPECT_EQ(std::tuple(x_min, x_max, y_min, y_max), std::tuple(0.25, 0.5, 0.25, 0.75));
}

GstAnalyticsSegmentationMtd add_mask(GstAnalyticsRelationMeta* meta, guint od_id) {
  GstAnalyticsSegmentationMtd out;
  guint ids[] = {0, 1};
  gst_analytics_relation_meta_add_segmentation_mtd(
      meta, test::foreign_mask(GST_VIDEO_FORMAT_GRAY8, 4, 1), GST_SEGMENTATION_TYPE_INSTANCE, 2,
      ids, 4, 5, 6, 7, &out);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, od_id, out.id);
  return out;
}

TEST(Carry, MapsMasksOfOtherDecoders) {
  const Buffer from = test::empty_frame();
  GstAnalyticsODMtd od;
  auto* meta = gst_buffer_add_analytics_relation_meta(from.get());
  gst_analytics_relation_meta_add_od_mtd(meta, 0, 1, 2, 30, 20, 0.5f, &od);
  add_mask(meta, od.id);
  EXPECT_EQ(boxes(stretched(from)).at(0).mask.place, (Box{8, 20, 20, 48}));
}

/// Masks may have been added in another order than their boxes.
TEST(Carry, FindsTheExactPlacesOfMasksInAnyOrder) {
  const Buffer from = test::empty_frame();
  std::vector<FrameBox> list(2, plain_box({1, 2, 30, 20}));
  test::attach(from.get(), list);
  auto* meta = gst_buffer_get_analytics_relation_meta(from.get());
  const auto second = add_mask(meta, 1), first = add_mask(meta, 0);
  const MaskRecord records[] = {{0, first.id, 4.25f, 5.25f, 10, 12},
                                {1, second.id, 4.75f, 5.625f, 10, 12}};
  add_masks(meta, records);
  const auto found = boxes(stretched(from));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].mask.place, (Box{8.5f, 21, 20, 48}));
  EXPECT_EQ(found[1].mask.place, (Box{9.5f, 22.5f, 20, 48}));
}

/// Elements may move a box without its record.
TEST(Carry, LeavesRecordsThatDoNotAgree) {
  const Buffer from = test::empty_frame();
  FrameBox box = plain_box({16, 8, 32, 24});
  test::attach(from.get(), std::span(&box, 1));
  auto* meta = gst_buffer_get_analytics_relation_meta(from.get());
  GstAnalyticsODMtd od;
  gst_analytics_relation_meta_add_od_mtd(meta, box.label, 16, 8, 16, 16, box.score, &od);
  FrameBox elsewhere = box;
  elsewhere.od_id = od.id;
  elsewhere.box.x1 = 22;
  add_records(meta, {&elsewhere, 1});
  const auto found = boxes(stretched(from));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].class_id, 3u);
  EXPECT_FALSE(found[1].class_id);
  EXPECT_EQ(found[1].box, (Box{32, 32, 64, 96}));
}

std::vector<GQuark> transforms;  // of the mtds below

gboolean note_transform(GstBuffer*, GstAnalyticsMtd* mtd, GstBuffer*, GQuark type, gpointer) {
  transforms.push_back(type);
  const auto* text =
      static_cast<const char*>(gst_analytics_relation_meta_get_mtd_data(mtd->meta, mtd->id));
  EXPECT_STREQ(text, "mine");
  return TRUE;
}

TEST(Carry, LetsOtherMtdsTransformThemselves) {
  static const GstAnalyticsMtdImpl impl = {"of-another-project", note_transform, nullptr, {}};
  const Buffer from = test::empty_frame();
  GstAnalyticsMtd mtd;
  auto* meta = gst_buffer_add_analytics_relation_meta(from.get());
  std::memcpy(gst_analytics_relation_meta_add_mtd(meta, &impl, 5, &mtd), "mine", 5);
  transforms.clear();
  const Buffer to = stretched(from);
  const GQuark scale =
      matrix_quark() != 0 ? matrix_quark() : gst_video_meta_transform_scale_get_quark();
  EXPECT_EQ(transforms, (std::vector{g_quark_from_string("gst-copy"), scale}));
  EXPECT_EQ(gst_analytics_relation_get_length(gst_buffer_get_analytics_relation_meta(to.get())),
            1u);
}

}  // namespace
}  // namespace keepbox
