// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures of caps, and the events of streams in batches.
#include "gst/base/element.h"

#include <gtest/gtest.h>

#include <string>

#include "gst/base/batches.h"

namespace keepbox {
namespace {

std::optional<Picture> picture(const std::string& fields) {
  g_autoptr(GstCaps) caps = gst_caps_from_string(("video/x-raw," + fields).c_str());
  return picture_of(caps);
}

TEST(Picture, HasSizeAspectRatioAndChroma) {
  const auto whole = picture("width=64,height=48,pixel-aspect-ratio=4/3,format=YUY2");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->size, (Size{64, 48}));
  EXPECT_EQ(whole->par_n, 4u);
  EXPECT_EQ(whole->par_d, 3u);
  EXPECT_EQ(whole->chroma, (Size{2, 1}));
  const auto plain = picture("width=1,height=1,pixel-aspect-ratio=0/1");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->par_n, 1u);
  EXPECT_EQ(plain->par_d, 1u);
  EXPECT_EQ(plain->chroma, (Size{1, 1}));
  for (const char* none : {"width=64", "height=64", "width=0,height=4", "width=4,height=0"})
    EXPECT_FALSE(picture(none)) << none;
}

TEST(Picture, IsThatOfTheVideo) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_I420, 64, 48);
  info.par_n = 4, info.par_d = 3;
  const Picture out = picture_of(info);
  EXPECT_EQ(out.size, (Size{64, 48}));
  EXPECT_EQ(out.par_n, 4u);
  EXPECT_EQ(out.par_d, 3u);
  EXPECT_EQ(out.chroma, (Size{2, 2}));
  info.par_n = 0, info.par_d = 0;
  EXPECT_EQ(picture_of(info).par_n, 1u);
  EXPECT_EQ(picture_of(info).par_d, 1u);
}

TEST(Picture, LeavesASizeThatCapsDoNotHave) {
  Size size{1, 2};
  g_autoptr(GstCaps) without = gst_caps_from_string("video/x-raw,width=64");
  EXPECT_FALSE(read_size(without, size));
  EXPECT_EQ(size, (Size{1, 2}));
  g_autoptr(GstCaps) with = gst_caps_from_string("video/x-raw,width=64,height=48");
  EXPECT_TRUE(read_size(with, size));
  EXPECT_EQ(size, (Size{64, 48}));
}

GstEvent* tag_of(const char* title, guint32 number) {
  GstEvent* out = gst_event_new_tag(gst_tag_list_new(GST_TAG_TITLE, title, nullptr));
  gst_event_set_seqnum(out, number);
  return out;
}

TEST(RepeatedEvents, AreTakenOnce) {
  RepeatedEvents events;
  g_autoptr(GstEvent) one = tag_of("one", 5);
  g_autoptr(GstEvent) again = tag_of("one", 5);
  g_autoptr(GstEvent) renumbered = tag_of("one", 6);
  g_autoptr(GstEvent) two = tag_of("two", 6);
  g_autoptr(GstEvent) start = gst_event_new_stream_start("id");
  g_autoptr(GstEvent) gap = gst_event_new_gap(0, 1);
  EXPECT_TRUE(events.take(one));
  EXPECT_FALSE(events.take(one));
  EXPECT_TRUE(events.take(start)) << "another type";
  EXPECT_FALSE(events.take(again)) << "the same in another object";
  EXPECT_TRUE(events.take(renumbered));
  EXPECT_TRUE(events.take(two));
  EXPECT_TRUE(events.take(one)) << "not the last one";
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(events.take(gap)) << "of a moment";
}

}  // namespace
}  // namespace keepbox
