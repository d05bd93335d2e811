// SPDX-License-Identifier: LGPL-2.1-or-later
// Selects the boxes of a frame that are read.
#include <string>
#include <vector>

#include "gst/metas/boxes.h"
#include "gst/metas/labels.h"
#include "tests/gst/frames.h"

namespace keepbox {
namespace {

using test::Buffer;

/// A crop of GStreamer 1.28 leaves boxes outside of the frame.
TEST(ReadBoxes, SkipsBoxesOutsideTheFrame) {
  const Buffer frame = test::empty_frame();
  auto* meta = gst_buffer_add_analytics_relation_meta(frame.get());
  const auto add = [meta](const char* label, gint x, gint y, gint w, gint h, gfloat angle = 0) {
    gst_analytics_relation_meta_add_oriented_od_mtd(meta, g_quark_from_string(label), x, y, w, h,
                                                    angle, 0.5f, nullptr);
  };
  add("left", -40, 0, 40, 20);
  add("above", 0, -20, 40, 20);
  add("right", 64, 0, 40, 20);
  add("below", 0, 48, 40, 20);
  add("turned away", -30, 10, 40, 4, 1.5707964f);
  add("at the edges", -1, -1, 66, 50);
  add("turned in", 50, -20, 40, 10, 1.5707964f);
  add("of no size", 0, 0, 0, 0);
  std::vector<FrameBox> found;
  const auto labels = [&] {
    std::string out;
    for (const FrameBox& box : found) out += g_quark_to_string(box.label) + std::string(", ");
    return out;
  };
  EXPECT_TRUE(read_boxes(frame.get(), found, nullptr, {64, 48}));
  EXPECT_EQ(labels(), "at the edges, of no size, ");
  EXPECT_TRUE(read_boxes(frame.get(), found));
  EXPECT_EQ(labels(), "right, below, at the edges, turned in, of no size, ");
  gst_buffer_add_video_meta(frame.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 80, 48);
  EXPECT_TRUE(read_boxes(frame.get(), found));
  EXPECT_EQ(labels(), "right, at the edges, turned in, of no size, ");
}

/// Some decoders leave the box itself unlabelled; others repeat its label.
TEST(ReadBoxes, ReadsTheClassesOfOtherElements) {
  const Buffer frame = test::empty_frame();
  auto* meta = gst_buffer_add_analytics_relation_meta(frame.get());
  const GQuark car = g_quark_from_string("car"), red = g_quark_from_string("red"),
               blue = g_quark_from_string("blue");
  for (const GQuark label : {GQuark{0}, car}) {
    GstAnalyticsODMtd od;
    GstAnalyticsClsMtd empty;
    gfloat no_level = 0;
    GQuark no_name = 0;
    gst_analytics_relation_meta_add_od_mtd(meta, label, 1, 2, 30, 40, 0.5f, &od);
    gst_analytics_relation_meta_add_cls_mtd(meta, 0, &no_level, &no_name, &empty);
    gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, od.id,
                                             empty.id);
    add_classes(meta, od.id, {{car, blue}, {0.75f, 0.25f}, GST_ANALYTICS_REL_TYPE_RELATE_TO});
    add_classes(meta, od.id, {{red, blue}, {0.625f, 0.25f}, GST_ANALYTICS_REL_TYPE_RELATE_TO});
  }
  const auto found = test::boxes(frame);
  ASSERT_EQ(found.size(), 2u);
  for (const FrameBox& box : found) {
    EXPECT_EQ(box.label, car);
    ASSERT_EQ(box.labels.size(), 1u) << "the first class of each that is not the box's";
    EXPECT_EQ(box.labels[0].text, "red");
    EXPECT_EQ(box.labels[0].level, 0.625f);
  }
}

TEST(ReadBoxes, ReadsAFewClassesOfABox) {
  const Buffer frame = test::empty_frame();
  auto* meta = gst_buffer_add_analytics_relation_meta(frame.get());
  GstAnalyticsODMtd od;
  gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("car"), 1, 2, 30, 40, 0.5f, &od);
  for (const char* name : {"a", "b", "a", "c", "d", "e", "f", "g", "h"})
    add_classes(meta, od.id,
                {{g_quark_from_string(name)}, {0.5f}, GST_ANALYTICS_REL_TYPE_RELATE_TO});
  const FrameBox box = test::boxes(frame).at(0);
  ASSERT_EQ(box.labels.size(), BoxLabels::kMax);
  EXPECT_EQ(box.labels[2].text, "c") << "each once";
}

/// Some elements relate the class to its box only, not the box to its class.
TEST(ReadBoxes, TellsClassesOfBoxesFromThoseOfTheFrame) {
  const Buffer frame = test::empty_frame();
  auto* meta = gst_buffer_add_analytics_relation_meta(frame.get());
  GstAnalyticsODMtd od;
  gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("car"), 1, 2, 30, 40, 0.5f, &od);
  const auto add = [&](const char* name, guint32 from_box, guint32 to_box) {
    add_classes(meta, od.id, {{g_quark_from_string(name)}, {0.5f}, from_box, to_box});
  };
  add("red", GST_ANALYTICS_REL_TYPE_NONE, GST_ANALYTICS_REL_TYPE_IS_PART_OF);
  add("blue", GST_ANALYTICS_REL_TYPE_CONTAIN, GST_ANALYTICS_REL_TYPE_NONE);
  add_classes(meta, G_MAXUINT, {{g_quark_from_string("rain")}, {0.5f}});
  add_classes(meta, G_MAXUINT, {});
  const auto of_frame = classes_of_frame(meta);
  ASSERT_EQ(of_frame.size(), 1u);
  EXPECT_EQ(of_frame[0].names, std::vector{g_quark_from_string("rain")});
}

TEST(ReadBoxes, KnowsNoParentOfItsOwn) {
  const Buffer frame = test::empty_frame();
  auto* meta = gst_buffer_add_analytics_relation_meta(frame.get());
  gst_analytics_relation_meta_add_od_mtd(meta, 0, 1, 2, 30, 40, 0.5f, nullptr);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF, 0, 0);
  EXPECT_FALSE(test::boxes(frame).at(0).parent);
}

}  // namespace
}  // namespace keepbox
