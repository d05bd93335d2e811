// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks of boxes in metas: made, written, read, scaled and rotated.
#include "gst/metas/masks.h"

#include <cmath>
#include <cstring>
#include <tuple>

#include "gst/metas/boxes.h"
#include "gst/metas/records.h"
#include "tests/gst/metas/parts.h"

namespace keepbox {
namespace {

using test::attach;
using test::boxes;
using test::Buffer;
using test::pixels_of;
using test::plain_box;

constexpr uint32_t kCorner[] = {0b001, 0b011};  // three pixels wide
constexpr uint32_t kDot[] = {0, 1};
const Mask kMasks[] = {
    {kCorner, 1, 0, 3, 2, {10.25f, 20.5f, 40, 40}}, {}, {kDot, 1, 0, 1, 2, {50, 60, 70.5f, 80}}};

TEST(Masks, AreMadeInOneAllocation) {
  Buffer kept;
  {
    const MaskBuffers masks = make_mask_buffers(kMasks);
    ASSERT_EQ(masks.size(), 3u);
    EXPECT_EQ(masks[1].pixels, nullptr);
    EXPECT_EQ(masks[2].place, kMasks[2].place);
    EXPECT_EQ(pixels_of(masks[0].pixels), (std::vector{1, 0, 0, 1, 1, 0}));
    GstMemory* first = gst_buffer_peek_memory(masks[0].pixels, 0);
    GstMemory* last = gst_buffer_peek_memory(masks[2].pixels, 0);
    EXPECT_NE(first->parent, nullptr);
    EXPECT_EQ(first->parent, last->parent);
    EXPECT_EQ(gst_buffer_get_video_meta(masks[0].pixels)->stride[0], 3);
    kept.reset(gst_buffer_ref(masks[2].pixels));
  }
  EXPECT_EQ(pixels_of(kept.get()), (std::vector{0, 2})) << "the second of them";
  EXPECT_EQ(make_mask_buffers({}).size(), 0u);
}

/// Rows that begin within a word, of several words, with runs of equal pixels.
TEST(Masks, HaveThePixelsOfTheirBits) {
  constexpr guint kStride = 4, kRows = 3;
  const uint32_t words[kRows * kStride] = {~0u, ~0u,        0, 0x80000001, 0, 0,
                                           ~0u, 0xfffffffe, 1, 2,          4, 0xf0f0f0f0};
  for (const uint32_t first : {0u, 1u, 31u})
    for (const uint32_t width : {1u, 31u, 32u, 33u, 64u, 97u}) {
      const Mask mask{words, kStride, first, width, kRows, {0, 0, 9, 9}};
      std::vector<int> wanted;
      for (guint y = 0; y < kRows; ++y)
        for (guint x = first; x < first + width; ++x)
          wanted.push_back(words[y * kStride + x / 32] >> x % 32 & 1 ? 1 : 0);
      const MaskBuffers masks = make_mask_buffers(std::span(&mask, 1));
      EXPECT_EQ(pixels_of(masks[0].pixels), wanted) << first << ' ' << width;
    }
}

TEST(Masks, HaveDistinctRegions) {
  const std::vector<Mask> many(25, {kDot, 1, 0, 1, 2, {0, 0, 9, 9}});
  const MaskBuffers masks = make_mask_buffers(many);
  EXPECT_EQ(pixels_of(masks[9].pixels), (std::vector{0, 10}));
  EXPECT_EQ(pixels_of(masks[10].pixels), (std::vector{0, 1}));
  EXPECT_EQ(pixels_of(masks[24].pixels), (std::vector{0, 5}));
}

/// Three boxes, the second without a mask.
Buffer masked(const AttachOptions& options = {}) {
  Buffer frame(gst_buffer_new_allocate(nullptr, 640 * 640 * 3, nullptr));
  const MaskBuffers masks = make_mask_buffers(kMasks);
  std::vector<FrameBox> list;
  for (size_t i = 0; i < masks.size(); ++i) {
    list.push_back(plain_box({10, 20, 80, 90}));
    list.back().mask = masks[i];
  }
  attach(frame.get(), list, options);
  return frame;
}

TEST(Masks, AreReadAsTheyWereAttached) {
  const Buffer frame = masked({.classes = true, .frame = {640, 640}});
  const auto found = boxes(frame);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].mask.place, kMasks[0].place) << "floats";
  EXPECT_EQ(pixels_of(found[0].mask.pixels), (std::vector{1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(found[1].mask.pixels, nullptr);
  EXPECT_EQ(pixels_of(found[2].mask.pixels), (std::vector{0, 2}));
}

/// The numbers of regions are those in the pixels.
TEST(Masks, KeepTheirRegionWithoutEarlierOnes) {
  const Buffer frame(gst_buffer_new_allocate(nullptr, 640 * 640 * 3, nullptr));
  const MaskBuffers masks = make_mask_buffers(kMasks);
  FrameBox last = plain_box({10, 20, 80, 90});
  last.mask = masks[2];
  attach(frame.get(), std::span(&last, 1), {.frame = {640, 640}});
  const auto mtds = test::related<GstAnalyticsSegmentationMtd>(
      gst_buffer_get_analytics_relation_meta(frame.get()), last.od_id,
      gst_analytics_segmentation_mtd_get_mtd_type());
  ASSERT_EQ(mtds.size(), 1u);
  EXPECT_EQ(gst_analytics_segmentation_mtd_get_region_id(&mtds[0], 1), 2u);
}

TEST(Masks, MatchGStreamersOwnFunctions) {
  const Buffer frame = masked({.frame = {640, 640}});
  auto* meta = gst_buffer_get_analytics_relation_meta(frame.get());
  const guint id = boxes(frame).at(2).od_id;
  const auto masks = test::related<GstAnalyticsSegmentationMtd>(
      meta, id, gst_analytics_segmentation_mtd_get_mtd_type());
  ASSERT_EQ(masks.size(), 1u);
  EXPECT_EQ(gst_analytics_relation_meta_get_relation(meta, masks[0].id, id),
            GST_ANALYTICS_REL_TYPE_RELATE_TO);
  ASSERT_EQ(gst_analytics_segmentation_mtd_get_region_count(&masks[0]), 2u);
  EXPECT_EQ(gst_analytics_segmentation_mtd_get_region_id(&masks[0], 0), 0u);
  EXPECT_EQ(gst_analytics_segmentation_mtd_get_region_id(&masks[0], 1), 2u);
  gint x = 0, y = 0;
  guint width = 0, height = 0;
  g_autoptr(GstBuffer) pixels =
      gst_analytics_segmentation_mtd_get_mask(&masks[0], &x, &y, &width, &height);
  EXPECT_EQ(std::tuple(x, y, width, height), std::tuple(50, 60, 21u, 20u));
}

TEST(Masks, HaveRecordsByTheirMtd) {
  const Buffer frame = masked();
  auto* meta = gst_buffer_get_analytics_relation_meta(frame.get());
  const Records records(meta);
  GstAnalyticsMtd mtd;
  gpointer state = nullptr;
  std::vector<Box> places;
  while (gst_analytics_relation_meta_iterate(meta, &state,
                                             gst_analytics_segmentation_mtd_get_mtd_type(), &mtd)) {
    const auto record = records.mask(mtd.id);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->seg_id, mtd.id);
    places.push_back(record->place());
  }
  EXPECT_EQ(places, (std::vector{kMasks[0].place, kMasks[2].place}));
  EXPECT_FALSE(records.mask(mtd.id + 100));
}

TEST(Masks, AreScaledWithTheVideo) {
  test::Harness h(
      "identity ! videoscale add-borders=false ! video/x-raw,width=320,height=160 "
      "! identity",
      "video/x-raw,format=RGB,width=640,height=640,framerate=30/1,"
      "pixel-aspect-ratio=1/1");
  const Buffer out = h.run(masked({.frame = {640, 640}}).release());
  ASSERT_TRUE(out) << h.error();
  const auto found = boxes(out);
  EXPECT_EQ(found.at(0).mask.place, (Box{5.125f, 5.125f, 20, 10}));
  EXPECT_EQ(pixels_of(found.at(0).mask.pixels), (std::vector{1, 0, 0, 1, 1, 0}));
}

TEST(Masks, FollowAMatrix) {
  const Buffer frame = masked();
  test::move_pixels(frame, "keepbox-masks", PixelMap::scale(2, 1, -50, 5));
  EXPECT_EQ(boxes(frame).at(0).mask.place, (Box{-29.5f, 25.5f, 30, 45}));
}

/// Makes a detection of another decoder with a mask from 5, 6 on. @param mask transfer full.
FrameBox of_another(GstBuffer* mask, std::vector<guint> regions, guint width = 7,
                    guint height = 8) {
  const Buffer frame = test::empty_frame();
  auto* meta = gst_buffer_add_analytics_relation_meta(frame.get());
  GstAnalyticsODMtd od;
  GstAnalyticsSegmentationMtd segmentation;
  gst_analytics_relation_meta_add_od_mtd(meta, 0, 1, 2, 30, 40, 0.5f, &od);
  gst_analytics_relation_meta_add_segmentation_mtd(meta, mask, GST_SEGMENTATION_TYPE_INSTANCE,
                                                   regions.size(), regions.data(), 5, 6, width,
                                                   height, &segmentation);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, od.id,
                                           segmentation.id);
  return boxes(frame).at(0);
}

TEST(Masks, OfOtherDecodersAreReadIfOfOneObject) {
  const auto mask = [](GstVideoFormat format) { return test::foreign_mask(format, 4, 3); };
  EXPECT_EQ(of_another(mask(GST_VIDEO_FORMAT_GRAY8), {0, 3}).mask.place, (Box{5, 6, 12, 14}));
  EXPECT_NE(of_another(mask(GST_VIDEO_FORMAT_GRAY8), {0}).mask.pixels, nullptr);
  EXPECT_EQ(of_another(mask(GST_VIDEO_FORMAT_GRAY8), {0, 3, 4}).mask.pixels, nullptr);
  EXPECT_EQ(of_another(mask(GST_VIDEO_FORMAT_GRAY16_LE), {0, 3}).mask.pixels, nullptr);
}

TEST(Masks, WithoutAnAreaAreNotRead) {
  const auto mask = [] { return test::foreign_mask(GST_VIDEO_FORMAT_GRAY8, 4, 3); };
  EXPECT_EQ(of_another(mask(), {0, 3}, 0, 8).mask.pixels, nullptr);
  EXPECT_EQ(of_another(mask(), {0, 3}, 7, 0).mask.pixels, nullptr);
}

TEST(Masks, TurnWithThePicture) {
  const MaskBuffers masks = make_mask_buffers(std::span(kMasks, 1));
  const auto oriented = [&](const PixelMap& map) {
    const FrameMask out = moved_mask(masks[0].pixels, {10, 20, 40, 40}, map);
    const auto pixels = pixels_of(out.pixels);
    gst_buffer_unref(out.pixels);
    return std::pair(out.place, pixels);
  };
  using Oriented = std::pair<Box, std::vector<int>>;
  // 1 0 0
  // 1 1 0
  EXPECT_EQ(oriented(PixelMap({-1, 0, 100, 0, 1, 0, 0, 0, 1})),
            (Oriented{{60, 20, 90, 40}, {0, 0, 1, 0, 1, 1}}));
  EXPECT_EQ(oriented(PixelMap({1, 0, 0, 0, -1, 100, 0, 0, 1})),
            (Oriented{{10, 60, 40, 80}, {1, 1, 0, 1, 0, 0}}));
  EXPECT_EQ(oriented(PixelMap({0, -1, 100, 1, 0, 0, 0, 0, 1})),  // clockwise
            (Oriented{{60, 10, 80, 40}, {1, 1, 1, 0, 0, 0}}));
  EXPECT_EQ(oriented(PixelMap({0, 2, 0, 3, 0, 0, 0, 0, 1})),  // about the diagonal
            (Oriented{{40, 30, 80, 120}, {1, 1, 0, 1, 0, 0}}));
  const FrameMask scaled = moved_mask(masks[0].pixels, {10, 20, 40, 40}, PixelMap::scale(2, 3));
  EXPECT_EQ(scaled.pixels, masks[0].pixels) << "nothing is copied";
  EXPECT_EQ(scaled.place, (Box{20, 60, 80, 120}));
  gst_buffer_unref(scaled.pixels);
}

TEST(Masks, TruncatedMasksAreIgnored) {
  const Buffer mask(gst_buffer_new_allocate(nullptr, 15, nullptr));
  gst_buffer_add_video_meta(mask.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 4, 4);
  EXPECT_FALSE(MaskView(mask.get()));
  EXPECT_EQ(moved_mask(mask.get(), {0, 0, 4, 4}, PixelMap::scale(-1, 1)).pixels, nullptr);
  EXPECT_FALSE(MaskView(nullptr));
  const Buffer full(gst_buffer_new_allocate(nullptr, 16, nullptr));
  gst_buffer_add_video_meta(full.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 4, 4);
  EXPECT_TRUE(MaskView(full.get())) << "rows as long as they are wide";
}

TEST(Masks, MayBeginLaterInTheirBuffer) {
  for (const gsize bytes : {24u, 23u}) {
    const Buffer mask(gst_buffer_new_allocate(nullptr, bytes, nullptr));
    gst_buffer_memset(mask.get(), 0, 1, 8);
    gst_buffer_memset(mask.get(), 8, 2, bytes - 8);
    const gsize offset[GST_VIDEO_MAX_PLANES] = {8};
    const gint stride[GST_VIDEO_MAX_PLANES] = {4};
    gst_buffer_add_video_meta_full(mask.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 4,
                                   4, 1, offset, stride);
    EXPECT_EQ(pixels_of(mask.get()), std::vector<int>(bytes == 24 ? 16 : 0, 2));
  }
}

TEST(Masks, OfSixteenBitsTurnToo) {
  const Buffer mask(test::foreign_mask(GST_VIDEO_FORMAT_GRAY16_LE, 2, 0));
  const guint8 rows[] = {1, 2, 3, 4, 5, 6, 7, 8};
  gst_buffer_fill(mask.get(), 0, rows, 4);
  gst_buffer_fill(mask.get(), gst_buffer_get_video_meta(mask.get())->stride[0], rows + 4, 4);
  const FrameMask out = moved_mask(mask.get(), {0, 0, 4, 4}, PixelMap::scale(-1, 1, 10));
  const Buffer turned(out.pixels);
  const MaskView view(turned.get());
  ASSERT_TRUE(view);
  EXPECT_EQ(view.format(), GST_VIDEO_FORMAT_GRAY16_LE);
  const guint8 want[] = {3, 4, 1, 2, 7, 8, 5, 6};
  EXPECT_EQ(std::memcmp(view.row(0), want, 4), 0);
  EXPECT_EQ(std::memcmp(view.row(1), want + 4, 4), 0);
}

TEST(Masks, CountAmongTheMtdsOfAFrame) {
  const Buffer frame = test::empty_frame();
  const std::vector<Mask> many(kMaxMtds / 2 + 1, {kDot, 1, 0, 1, 2, {0, 0, 9, 9}});
  const MaskBuffers masks = make_mask_buffers(many);
  std::vector<FrameBox> list(many.size(), plain_box({1, 2, 3, 4}));
  for (size_t i = 0; i < list.size(); ++i) list[i].mask = masks[i];
  EXPECT_FALSE(attach_boxes(frame.get(), list, {}));
  EXPECT_EQ(gst_buffer_get_analytics_relation_meta(frame.get()), nullptr);
}

TEST(Oriented, BoxesAreWrittenAsUprightOnes) {
  const Buffer frame = test::empty_frame();
  FrameBox box = plain_box({100.25f, 50, 160, 69.5f});
  box.angle = static_cast<float>(M_PI / 2);
  attach(frame.get(), std::span(&box, 1), {.frame = {640, 640}});
  GstAnalyticsODMtd od;
  gst_analytics_relation_meta_get_od_mtd(gst_buffer_get_analytics_relation_meta(frame.get()), 0,
                                         &od);
  gint x = 0, y = 0, width = 0, height = 0;
  gfloat angle = 0, score = 0;
  gst_analytics_od_mtd_get_oriented_location(&od, &x, &y, &width, &height, &angle, &score);
  EXPECT_EQ(std::tuple(x, y, width, height), std::tuple(100, 50, 60, 20));
  EXPECT_EQ(angle, box.angle);
  // GStreamer's upright box around it: 20 x 60 about 130, 60.
  gst_analytics_od_mtd_get_location(&od, &x, &y, &width, &height, &score);
  EXPECT_NEAR(x, 120, 1);
  EXPECT_NEAR(y, 30, 1);
  EXPECT_NEAR(width, 20, 1);
  EXPECT_NEAR(height, 60, 1);
  EXPECT_EQ(boxes(frame).at(0).box, box.box);
}

}  // namespace
}  // namespace keepbox
