// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes as GStreamer has them: regions, models, and the room for them.
#include "gst/metas/boxes.h"

#include <gst/video/video.h>

#include <string>
#include <tuple>

#include "tests/gst/metas/parts.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::plain_box;

TEST(AttachBoxes, AddsRegionsInTheFormOfOthers) {
  const Buffer frame = test::empty_frame();
  FrameBox boxes[] = {plain_box({1, 1, 2, 2}), plain_box({8, 5, 32, 20}),
                      plain_box({-10, -6, 16, 12})};
  test::attach(frame.get(), std::span(boxes).first(2), {.regions = true, .frame = {64, 40}});
  boxes[2].parent = boxes[1].od_id;
  test::attach(frame.get(), std::span(boxes).last(1), {.regions = true, .frame = {64, 40}});
  const auto* whole = gst_buffer_get_video_region_of_interest_meta_id(frame.get(), 1);
  const auto* part = gst_buffer_get_video_region_of_interest_meta_id(
      frame.get(), static_cast<gint>(boxes[2].od_id));
  ASSERT_TRUE(whole != nullptr && part != nullptr);
  EXPECT_EQ(whole->parent_id, 0);
  EXPECT_EQ(part->parent_id, 1);
  EXPECT_EQ(std::tuple(part->x, part->y), std::tuple(0u, 0u)) << "they have no negative places";
  double x_min = 0, x_max = 0, y_min = 0, y_max = 0;
  gint label_id = -1;
  ASSERT_TRUE(gst_structure_get(gst_video_region_of_interest_meta_get_param(
                                    const_cast<GstVideoRegionOfInterestMeta*>(whole), "detection"),
                                "x_min", G_TYPE_DOUBLE, &x_min, "x_max", G_TYPE_DOUBLE, &x_max,
                                "y_min", G_TYPE_DOUBLE, &y_min, "y_max", G_TYPE_DOUBLE, &y_max,
                                "label_id", G_TYPE_INT, &label_id, nullptr));
  EXPECT_EQ(std::tuple(x_min, x_max, y_min, y_max), std::tuple(0.125, 0.5, 0.125, 0.5));
  EXPECT_EQ(label_id, 3);
}

TEST(AttachBoxes, CountsWhatTheFrameHas) {
  const Buffer frame = test::empty_frame();
  EXPECT_EQ(room_on(frame.get()), kMaxMtds);
  std::vector<FrameBox> most(kMaxMtds - 5, plain_box({1, 2, 3, 4})),
      more(6, plain_box({1, 2, 3, 4}));
  test::attach(frame.get(), most);
  const gsize room = room_on(frame.get());  // without the mtd of their records
  EXPECT_EQ(room, 4u);
  const Status status = attach_boxes(frame.get(), more, {});
  ASSERT_FALSE(status);
  test::expect_words(status.error().message(), {"6 boxes in addition to", "max-detections="});
  EXPECT_EQ(room_on(frame.get()), room) << "nothing was added";
  EXPECT_TRUE(attach_boxes(frame.get(), std::span(more).first(room), {}));
  EXPECT_TRUE(attach_boxes(frame.get(), {}, {}));
}

TEST(AttachBoxes, KeepsTheModelsOfBoxes) {
  const Buffer frame = test::empty_frame();
  std::vector<FrameBox> list(5, plain_box({1, 2, 3, 4}));
  const char* models[] = {"a", "a", "b", "a", nullptr};
  for (size_t i = 0; i < list.size(); ++i) list[i].model = g_quark_from_string(models[i]);
  list[3].held = list[4].predicted = list[4].unnamed = list[0].coco = true;
  list[1].anchor.reset();
  test::attach(frame.get(), list);
  const auto found = test::boxes(frame);
  ASSERT_EQ(found.size(), list.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (i == 1) continue;
    EXPECT_EQ(found[i].model, list[i].model) << i;
    EXPECT_EQ(found[i].held, list[i].held) << i;
    EXPECT_EQ(found[i].predicted, list[i].predicted) << i;
    EXPECT_EQ(found[i].unnamed, list[i].unnamed) << i;
    EXPECT_EQ(found[i].coco, list[i].coco) << i;
    EXPECT_EQ(found[i].anchor, 9u) << i;
  }
  EXPECT_FALSE(found[1].class_id) << "no record";
}

}  // namespace
}  // namespace keepbox
