// SPDX-License-Identifier: LGPL-2.1-or-later
// Everything that elements between framesave and framerestore add to a frame is mapped.
#include <gst/video/video.h>

#include <tuple>
#include <utility>

#include "gst/metas/boxes.h"
#include "tests/gst/frames/restore.h"
#include "tests/gst/metas/parts.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::full_frame;
using test::Harness;
using test::kFull;
using test::ods;
using test::related;

/// A function that modifies a frame between the two.
using Between = void (*)(GstElement*, GstBuffer*, gpointer);

/// Returns a frame from the line with `between` called on it at the element "mid".
Buffer run_with(Harness& h, Between between, GstBuffer* frame = full_frame()) {
  GstElement* mid = gst_bin_get_by_name(h.bin(), "mid");
  g_object_set(mid, "signal-handoffs", TRUE, nullptr);
  g_signal_connect(mid, "handoff", G_CALLBACK(between), nullptr);
  gst_object_unref(mid);
  Buffer out = h.run(frame);
  EXPECT_TRUE(out) << h.error();
  return out;
}

// 192 x 108 in 64 x 64 is 64 x 36 with 14 above: full = 3 * (scaled - (0, 14)).
constexpr const char* kLetterboxed =
    "framesave ! videoconvertscale ! video/x-raw,width=64,height=64,pixel-aspect-ratio=1/1 "
    "! identity name=mid ! framerestore";

GQuark quark(const char* name) { return g_quark_from_string(name); }

/// Adds a person with a face, two classes of the face, a mask and a track of the person.
void add_rich(GstElement*, GstBuffer* buffer, gpointer) {
  auto* meta = gst_buffer_add_analytics_relation_meta(buffer);
  GstAnalyticsODMtd person, face, padding;
  gst_analytics_relation_meta_add_od_mtd(meta, quark("padding"), 0, 0, 5, 5, 0.5f, &padding);
  gst_analytics_relation_meta_add_od_mtd(meta, quark("person"), 10, 20, 20, 20, 0.7f, &person);
  gst_analytics_relation_meta_add_od_mtd(meta, quark("face"), 12, 22, 4, 4, 0.6f, &face);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF, face.id,
                                           person.id);
  for (const auto& [name, level] : {std::pair{"male", 0.5f}, {"age-30", 0.25f}}) {
    GstAnalyticsClsMtd cls;
    gst_analytics_relation_meta_add_one_cls_mtd(meta, level, quark(name), &cls);
    gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, face.id,
                                             cls.id);
  }
  GstBuffer* mask = gst_buffer_new_allocate(nullptr, 16, nullptr);
  gst_buffer_memset(mask, 0, 1, 16);
  gst_buffer_add_video_meta(mask, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 4, 4);
  guint ids[] = {1};
  GstAnalyticsSegmentationMtd segmentation;
  gst_analytics_relation_meta_add_segmentation_mtd(meta, mask, GST_SEGMENTATION_TYPE_INSTANCE, 1,
                                                   ids, 10, 20, 20, 20, &segmentation);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, person.id,
                                           segmentation.id);
  GstAnalyticsTrackingMtd track;
  gst_analytics_relation_meta_add_tracking_mtd(meta, 7, 5, &track);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, person.id,
                                           track.id);
  gst_analytics_tracking_mtd_update_last_seen(&track, 9 * GST_SECOND);
  gst_analytics_tracking_mtd_set_lost(&track);
}

TEST(Restore, CarriesEverythingThatElementsAdded) {
  Harness h(kLetterboxed, kFull);
  const Buffer out = run_with(h, add_rich);
  const auto found = ods(out);
  ASSERT_EQ(found.size(), 2u) << "one lay in the padding";
  EXPECT_EQ(found[0], (test::Od{"person", 30, 18, 60, 60, 0.7f}));
  EXPECT_EQ(found[1], (test::Od{"face", 36, 24, 12, 12, 0.6f}));
  auto* meta = gst_buffer_get_analytics_relation_meta(out.get());
  const auto both = boxes(out);
  EXPECT_EQ(gst_analytics_relation_meta_get_relation(meta, both[1].od_id, both[0].od_id),
            GST_ANALYTICS_REL_TYPE_IS_PART_OF);

  const auto classes =
      related<GstAnalyticsClsMtd>(meta, both[1].od_id, gst_analytics_cls_mtd_get_mtd_type());
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(gst_analytics_cls_mtd_get_quark(&classes[1], 0), quark("age-30"));
  EXPECT_EQ(gst_analytics_cls_mtd_get_level(&classes[1], 0), 0.25f);

  const auto tracks = related<GstAnalyticsTrackingMtd>(meta, both[0].od_id,
                                                       gst_analytics_tracking_mtd_get_mtd_type());
  ASSERT_EQ(tracks.size(), 1u);
  guint64 id = 0;
  GstClockTime first = 0, last = 0;
  gboolean lost = FALSE;
  ASSERT_TRUE(gst_analytics_tracking_mtd_get_info(&tracks[0], &id, &first, &last, &lost));
  EXPECT_EQ(id, 7u);
  EXPECT_EQ(first, 5u);
  EXPECT_EQ(last, 9 * GST_SECOND);
  EXPECT_TRUE(lost);

  const auto masks = related<GstAnalyticsSegmentationMtd>(
      meta, both[0].od_id, gst_analytics_segmentation_mtd_get_mtd_type());
  ASSERT_EQ(masks.size(), 1u);
  gint x = 0, y = 0;
  guint width = 0, height = 0;
  g_autoptr(GstBuffer) mask =
      gst_analytics_segmentation_mtd_get_mask(&masks[0], &x, &y, &width, &height);
  EXPECT_EQ(gst_buffer_get_size(mask), 16u);
  EXPECT_EQ(x, 30);
  EXPECT_EQ(y, 18);
  EXPECT_EQ(width, 60u);
  EXPECT_EQ(height, 60u);
  EXPECT_EQ(gst_analytics_segmentation_mtd_get_region_id(&masks[0], 0), 1u);
}

TEST(Restore, DoesNotClipOrientedBoxes) {
  Harness h("framesave ! identity name=mid ! framerestore", kFull);
  const Buffer out = run_with(
      h, +[](GstElement*, GstBuffer* buffer, gpointer) {
        auto* meta = gst_buffer_add_analytics_relation_meta(buffer);
        GstAnalyticsODMtd od;
        gst_analytics_relation_meta_add_oriented_od_mtd(meta, quark("ship"), -20, 50, 60, 20,
                                                        static_cast<gfloat>(G_PI / 4), 0.9f, &od);
        gst_analytics_relation_meta_add_oriented_od_mtd(meta, quark("gone"), -90, 50, 60, 20,
                                                        static_cast<gfloat>(G_PI / 4), 0.9f, &od);
      });
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].box, (Box{-20, 50, 40, 70}));
  EXPECT_FLOAT_EQ(found[0].angle, static_cast<float>(G_PI / 4));
}

/// Adds a user's zone, and a region of a detection.
void add_regions(GstElement*, GstBuffer* buffer, gpointer) {
  auto* zone = gst_buffer_add_video_region_of_interest_meta(buffer, "zone", 0, 14, 32, 18);
  zone->id = 77;
  FrameBox box{
      .box = {10, 20, 30, 40}, .score = 0.5f, .label = quark("cat"), .class_id = 3, .anchor = 9};
  attach_boxes(buffer, std::span(&box, 1), {.classes = true, .regions = true, .frame = {64, 64}});
}

TEST(Restore, KeepsRegionsOfAnyOrigin) {
  Harness h(kLetterboxed, kFull);
  const Buffer out = run_with(h, add_regions);
  auto* zone = gst_buffer_get_video_region_of_interest_meta_id(out.get(), 77);
  ASSERT_NE(zone, nullptr);
  EXPECT_EQ(zone->roi_type, quark("zone"));
  EXPECT_EQ(std::tuple(zone->x, zone->y, zone->w, zone->h), std::tuple(0u, 0u, 96u, 54u));
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].class_id, 3u);
  EXPECT_EQ(found[0].anchor, 9u);
  EXPECT_EQ(found[0].labels.size(), 0u);  // its class is that of the box
  const auto classes =
      related<GstAnalyticsClsMtd>(gst_buffer_get_analytics_relation_meta(out.get()), found[0].od_id,
                                  gst_analytics_cls_mtd_get_mtd_type());
  ASSERT_EQ(classes.size(), 1u);
  EXPECT_EQ(gst_analytics_cls_mtd_get_quark(&classes[0], 0), quark("cat"));
  auto* region =
      gst_buffer_get_video_region_of_interest_meta_id(out.get(), static_cast<gint>(found[0].od_id));
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(std::tuple(region->x, region->y, region->w, region->h), std::tuple(30u, 18u, 60u, 60u));
  const GstStructure* param = gst_video_region_of_interest_meta_get_param(region, "detection");
  double x_min = 0, x_max = 0, y_min = 0, y_max = 0;
  ASSERT_TRUE(gst_structure_get(param, "x_min", G_TYPE_DOUBLE, &x_min, "x_max", G_TYPE_DOUBLE,
                                &x_max, "y_min", G_TYPE_DOUBLE, &y_min, "y_max", G_TYPE_DOUBLE,
                                &y_max, nullptr));
  EXPECT_NEAR(x_min, 30 / 192.0, 1e-6);
  EXPECT_NEAR(x_max, 90 / 192.0, 1e-6);
  EXPECT_NEAR(y_min, 18 / 108.0, 1e-6);
  EXPECT_NEAR(y_max, 78 / 108.0, 1e-6);
}

TEST(Restore, RegionsKeepReferringToTheirBoxes) {
  Harness h("framesave ! identity name=mid ! framerestore", kFull);
  const Buffer out = run_with(
      h, +[](GstElement*, GstBuffer* buffer, gpointer) {
        FrameBox pair[] = {{.box = {10, 20, 30, 40}, .score = 0.5f, .label = quark("cat")},
                           {.box = {50, 20, 90, 40}, .score = 0.5f, .label = quark("dog")}};
        attach_boxes(buffer, pair, {.regions = true, .frame = {192, 108}});
      });
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 2u);
  for (const FrameBox& box : found) {
    auto* region =
        gst_buffer_get_video_region_of_interest_meta_id(out.get(), static_cast<gint>(box.od_id));
    ASSERT_NE(region, nullptr);
    EXPECT_EQ(region->roi_type, box.label);
    EXPECT_EQ(static_cast<float>(region->x), box.box.x1);
  }
}

TEST(Restore, HasNoClassIfUnknown) {
  FrameBox box{.box = {1, 2, 30, 40}, .score = 0.5f, .label = quark("cat")};
  const Buffer frame(full_frame());
  attach_boxes(frame.get(), std::span(&box, 1), {.regions = true, .frame = {192, 108}});
  auto* region = gst_buffer_get_video_region_of_interest_meta_id(frame.get(), 0);
  ASSERT_NE(region, nullptr);
  EXPECT_FALSE(gst_structure_has_field(
      gst_video_region_of_interest_meta_get_param(region, "detection"), "label_id"));
}

TEST(Restore, TakesFlagsFromTheStreamAndNotFromTheFrame) {
  Harness h("framesave ! identity name=mid ! framerestore", kFull);
  GstBuffer* frame = full_frame();
  GST_BUFFER_FLAG_SET(frame, GST_BUFFER_FLAG_MARKER);
  GST_BUFFER_FLAG_SET(frame, GST_VIDEO_BUFFER_FLAG_INTERLACED);
  const Buffer out = run_with(
      h,
      +[](GstElement*, GstBuffer* buffer, gpointer) {
        GST_BUFFER_FLAG_UNSET(buffer, GST_BUFFER_FLAG_MARKER);
        GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
        GST_BUFFER_PTS(buffer) = 99;
      },
      frame);
  EXPECT_FALSE(GST_BUFFER_FLAG_IS_SET(out.get(), GST_BUFFER_FLAG_MARKER));
  EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(out.get(), GST_BUFFER_FLAG_GAP));
  EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(out.get(), GST_VIDEO_BUFFER_FLAG_INTERLACED));
  EXPECT_EQ(GST_BUFFER_PTS(out.get()), 99u);
}

TEST(Restore, CarriesAllMetasOfAKind) {
  Harness h("framesave ! identity name=mid ! framerestore", kFull);
  const Buffer out = run_with(
      h, +[](GstElement*, GstBuffer* buffer, gpointer) {
        for (const char* name : {"timestamp/x-one", "timestamp/x-two"}) {
          g_autoptr(GstCaps) reference = gst_caps_new_empty_simple(name);
          gst_buffer_add_reference_timestamp_meta(buffer, reference, 5, GST_CLOCK_TIME_NONE);
        }
      });
  EXPECT_EQ(gst_buffer_get_n_meta(out.get(), GST_REFERENCE_TIMESTAMP_META_API_TYPE), 2u);
}

void add_time(GstBuffer* buffer) {
  g_autoptr(GstCaps) reference = gst_caps_new_empty_simple("timestamp/x-one");
  gst_buffer_add_reference_timestamp_meta(buffer, reference, 5, GST_CLOCK_TIME_NONE);
}

void add_cat(GstBuffer* buffer) {
  FrameBox box{.box = {10, 20, 30, 40}, .score = 0.5f, .label = quark("cat")};
  attach_boxes(buffer, std::span(&box, 1), {.frame = {192, 108}});
}

TEST(Restore, CarriesMetasNextToOnesThatStay) {
  // Detections are carried box by box, independently of metas before or after them.
  for (const auto add :
       {+[](GstElement*, GstBuffer* to, gpointer) { add_time(to), add_cat(to); },
        +[](GstElement*, GstBuffer* to, gpointer) { add_cat(to), add_time(to); }}) {
    Harness h("framesave ! identity name=mid ! framerestore", kFull);
    const Buffer out = run_with(h, add);
    EXPECT_EQ(gst_buffer_get_n_meta(out.get(), GST_REFERENCE_TIMESTAMP_META_API_TYPE), 1u);
    EXPECT_EQ(boxes(out).size(), 1u);
  }
}

TEST(Restore, CarriesNothingThatTheFrameAlreadyHas) {
  Harness h("framesave ! identity name=mid ! framerestore", kFull);
  GstBuffer* frame = full_frame();
  add_time(frame);
  gst_buffer_add_video_time_code_meta_full(frame, 30, 1, nullptr, GST_VIDEO_TIME_CODE_FLAGS_NONE, 1,
                                           2, 3, 4, 0);
  const Buffer out = run_with(h, +[](GstElement*, GstBuffer*, gpointer) {}, frame);
  EXPECT_EQ(gst_buffer_get_n_meta(out.get(), GST_REFERENCE_TIMESTAMP_META_API_TYPE), 1u);
  EXPECT_EQ(gst_buffer_get_n_meta(out.get(), GST_VIDEO_TIME_CODE_META_API_TYPE), 1u);
}

TEST(Restore, KeepsTheIdOfAZone) {
  Harness h("framesave ! identity name=mid ! framerestore", kFull);
  GstBuffer* frame = full_frame();
  FrameBox earlier[] = {{.box = {3, 4, 50, 60}, .score = 0.5f, .label = quark("cat")},
                        {.box = {3, 4, 50, 60}, .score = 0.5f, .label = quark("cat")}};
  attach_boxes(frame, earlier, {});
  const Buffer out = run_with(
      h,
      +[](GstElement*, GstBuffer* buffer, gpointer) {
        gst_buffer_add_video_region_of_interest_meta(buffer, "zone", 0, 14, 32, 18);  // its id is 0
        FrameBox box{.box = {10, 20, 30, 40}, .score = 0.5f, .label = quark("cat")};
        attach_boxes(buffer, std::span(&box, 1), {.frame = {64, 64}});
      },
      frame);
  auto* zone = gst_buffer_get_video_region_of_interest_meta_id(out.get(), 0);
  ASSERT_NE(zone, nullptr);
  EXPECT_EQ(zone->roi_type, quark("zone"));
}

}  // namespace
}  // namespace keepbox
