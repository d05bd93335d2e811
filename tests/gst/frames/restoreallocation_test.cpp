// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory, planes and formats of frames between the neighbours of framesave and framerestore.
#include <gst/video/video.h>

#include <string>
#include <tuple>

#include "gst/frames/keptframes.h"
#include "gst/frames/restore.h"
#include "tests/gst/frames/restore.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::full_frame;
using test::Harness;
using test::kFull;

/// Requirements of a neighbour: alignment, prefix, padding, bytes, buffers.
using Memory = std::tuple<gsize, gsize, gsize, guint, guint>;

void require(const Allocation& answer, const Memory& memory) {
  const auto [align, prefix, padding, bytes, buffers] = memory;
  GstAllocationParams params{};
  params.align = align, params.prefix = prefix, params.padding = padding;
  gst_query_add_allocation_param(answer.query, nullptr, &params);
  gst_query_add_allocation_pool(answer.query, nullptr, bytes, buffers, 0);
}

Memory combined(GstCaps* caps, const Allocation& a, const Allocation& b) {
  const Allocation out(caps);
  combine(out.query, a, b);
  const GstAllocationParams params = out.params();
  const auto [bytes, buffers] = out.pool();
  return {params.align, params.prefix, params.padding, bytes, buffers};
}

TEST(FrameSave, AsksForMemoryThatBothNeighboursCanUse) {
  g_autoptr(GstCaps) caps = gst_caps_from_string(kFull);
  const Allocation a(caps), b(caps), none(caps);
  require(a, {15, 2, 40, 1000, 3});
  require(b, {7, 8, 30, 2000, 2});
  EXPECT_EQ(combined(caps, a, b), Memory(15, 8, 40, 2000, 6))
      << "buffers of both, and one on its way";
  EXPECT_EQ(combined(caps, b, a), Memory(15, 8, 40, 2000, 6));
  EXPECT_EQ(combined(caps, a, none), Memory(15, 2, 40, 1000, 4));
  EXPECT_EQ(combined(caps, none, a), Memory(15, 2, 40, 1000, 4));
}

constexpr guint kGreyWidth = 100, kGreyRows = 40;
constexpr const char* kGrey = "video/x-raw,format=GRAY8,width=100,height=40,framerate=30/1";
constexpr const char* kAroundScaler =
    "framesave ! videoconvertscale ! video/x-raw,width=64,height=64 ! framerestore";

/// A frame whose pixels are the numbers of their rows.
GstBuffer* rows_apart(gsize first, guint stride) {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, first + stride * kGreyRows, nullptr);
  gst_buffer_memset(frame, 0, 0, first + stride * kGreyRows);
  for (guint y = 0; y < kGreyRows; ++y)
    gst_buffer_memset(frame, first + y * stride, guint8(y), kGreyWidth);
  gsize offset[GST_VIDEO_MAX_PLANES] = {first};
  gint strides[GST_VIDEO_MAX_PLANES] = {static_cast<gint>(stride)};
  gst_buffer_add_video_meta_full(frame, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8,
                                 kGreyWidth, kGreyRows, 1, offset, strides);
  return frame;
}

TEST(Restore, LaysOutPlanesForElementsWithoutVideoMeta) {
  for (const auto& [first, stride] : {std::pair(16u, 256u), {16u, kGreyWidth}, {0u, 256u}}) {
    Harness h(kAroundScaler, kGrey);
    const Buffer out = h.run(rows_apart(first, stride));
    ASSERT_TRUE(out) << h.error();
    ASSERT_EQ(gst_buffer_get_size(out.get()), 4000u) << first << ' ' << stride;
    for (guint y = 0; y < kGreyRows; ++y) {
      guint8 pixel = 99;
      gst_buffer_extract(out.get(), y * kGreyWidth + 50, &pixel, 1);
      ASSERT_EQ(pixel, y);
    }
  }
}

TEST(Restore, LeavesPlanesOnceDownstreamSupportsVideoMeta) {
  Harness h(kAroundScaler, kGrey);
  const auto bytes = [&] { return gst_buffer_get_size(h.run(rows_apart(16, 256)).get()); };
  EXPECT_EQ(bytes(), 4000u);
  gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_META_API_TYPE, nullptr);
  gst_pad_push_event(h.get()->sinkpad, gst_event_new_reconfigure());
  EXPECT_EQ(bytes(), 16u + 256 * kGreyRows);
}

/// True if an allocation query from upstream of a line offers GstVideoMeta.
bool offers_planes(Harness& h) {
  h.run(full_frame());
  g_autoptr(GstCaps) caps = gst_caps_from_string(kFull);
  const Allocation asked(caps);
  return gst_pad_peer_query(h.get()->srcpad, asked.query) &&
         gst_query_find_allocation_meta(asked.query, GST_VIDEO_META_API_TYPE, nullptr);
}

TEST(Restore, OffersOnlyWhatBothNeighboursSupport) {
  Harness both(
      std::string(kAroundScaler) + " ! videoconvertscale ! video/x-raw,width=50 ! identity", kFull);
  EXPECT_TRUE(offers_planes(both));
  Harness one(kAroundScaler, kFull);
  EXPECT_FALSE(offers_planes(one)) << "the harness takes no GstVideoMeta";
}

constexpr const char* kTee = "framesave ! tee name=t";
constexpr const char* kBranch =
    " t. ! queue ! videoconvertscale ! video/x-raw,width=64,height=64 ! framerestore ";

TEST(Restore, OffersOnlyWhatAllBranchesSupport) {
  const std::string scaler = "! videoconvertscale ! video/x-raw,width=50 ! fakesink async=false";
  for (const std::string& line : {std::string(kTee) + kBranch + scaler + kBranch,
                                  std::string(kTee) + kBranch + kBranch + scaler}) {
    Harness h(line, kFull);
    EXPECT_FALSE(offers_planes(h)) << line;
    gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_META_API_TYPE, nullptr);
    EXPECT_TRUE(offers_planes(h)) << line;
  }
}

bool accepts(const std::string& line, const char* caps) {
  Harness h(line, kFull);
  g_autoptr(GstCaps) asked = gst_caps_from_string(caps);
  return gst_pad_peer_query_accept_caps(h.get()->srcpad, asked);
}

TEST(Restore, AcceptsOnlyCapsThatAllNeighboursDo) {
  constexpr const char* kSmaller = "video/x-raw,format=RGB,width=100,height=108,framerate=30/1";
  const std::string wide = "! video/x-raw,width=192 ! identity ";
  for (const std::string& line :
       {kAroundScaler + (" " + wide),
        std::string(kTee) + kBranch + wide + "! fakesink async=false" + kBranch,
        std::string(kTee) + kBranch + "! fakesink async=false" + kBranch + wide,
        "framesave " + wide + "! framerestore"}) {
    EXPECT_TRUE(accepts(line, kFull)) << line;
    EXPECT_FALSE(accepts(line, kSmaller)) << line;
  }
  EXPECT_TRUE(accepts(kAroundScaler, kSmaller));
}

TEST(FrameFormat, IsPlainIfItsPixelsCanBeMapped) {
  const auto of = [](const char* text) {
    g_autoptr(GstCaps) caps = gst_caps_from_string(text);
    return frame_format(caps);
  };
  EXPECT_TRUE(of("video/x-raw,format=RGB,width=192,height=108")->plain);
  EXPECT_FALSE(of("video/x-raw(memory:DMABuf),format=RGB,width=192,height=108")->plain);
  const auto unknown = of("video/x-raw,format=of-another-world,width=192,height=108");
  ASSERT_TRUE(unknown);
  EXPECT_FALSE(unknown->plain);
  EXPECT_EQ(unknown->info.width, 192);
  EXPECT_EQ(unknown->info.height, 108);
  EXPECT_FALSE(of("video/x-raw,format=RGB,width=192"));
}

}  // namespace
}  // namespace keepbox
