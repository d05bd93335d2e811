// SPDX-License-Identifier: LGPL-2.1-or-later
// Groups of keypoints of GStreamer 1.30, with functions of the test in place of its own: checks the
// calls, and the use of their results.
#include <algorithm>
#include <cstring>

#include "gst/metas/boxes.h"
#include "gst/metas/carry.h"
#include "gst/metas/keypointgroups.h"
#include "tests/gst/metas/parts.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::plain_box;
using test::with_points;

struct Point {
  gint x, y, z;
  gfloat confidence;
  guint8 visibility;
};
struct Group {
  char tag[32];
  guint32 count;
  guint members[32];
};
const GstAnalyticsMtdImpl kPoint = {"keypoint-mtd", nullptr, nullptr, {}};
const GstAnalyticsMtdImpl kGroup = {"grouping-mtd", nullptr, nullptr, {}};

template <class T>
T* data(const GstAnalyticsMtd* mtd) {
  return static_cast<T*>(gst_analytics_relation_meta_get_mtd_data(mtd->meta, mtd->id));
}

template <class T>
gboolean add(GstAnalyticsRelationMeta* meta, const GstAnalyticsMtdImpl& impl, const T& value,
             GstAnalyticsMtd* mtd) {
  std::memcpy(gst_analytics_relation_meta_add_mtd(meta, &impl, sizeof value, mtd), &value,
              sizeof value);
  return TRUE;
}

gboolean add_keypoint(GstAnalyticsRelationMeta* meta, int, gint x, gint y, gint z,
                      guint8 visibility, gfloat confidence, GstAnalyticsMtd* mtd) {
  return add(meta, kPoint, Point{x, y, z, confidence, visibility}, mtd);
}

gboolean add_member(GstAnalyticsMtd* group, guint id) {
  auto* there = data<Group>(group);
  there->members[there->count++] = id;
  gst_analytics_relation_meta_set_relation(group->meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF, id,
                                           group->id);
  return gst_analytics_relation_meta_set_relation(group->meta, GST_ANALYTICS_REL_TYPE_CONTAIN,
                                                  group->id, id);
}

gboolean set_tag(GstAnalyticsMtd* group, const gchar* tag) {
  g_strlcpy(data<Group>(group)->tag, tag, sizeof Group::tag);
  return TRUE;
}

gboolean add_empty(GstAnalyticsRelationMeta* meta, gsize, GstAnalyticsMtd* group) {
  return add(meta, kGroup, Group{}, group);
}

gboolean add_keypoints(GstAnalyticsRelationMeta* meta, const gchar* tag, int dimensions,
                       gsize positions_len, const gint* positions, gsize keypoints,
                       const gfloat* confidences, const guint8*, gsize pairs_len, const gint* pairs,
                       GstAnalyticsMtd* group) {
  EXPECT_EQ(dimensions, 2);
  EXPECT_EQ(positions_len, 2 * keypoints);
  add_empty(meta, keypoints, group);
  set_tag(group, tag);
  for (gsize i = 0; i < keypoints; ++i) {
    GstAnalyticsMtd point;
    add_keypoint(meta, 2, positions[2 * i], positions[2 * i + 1], 0, 0, confidences[i], &point);
    add_member(group, point.id);
  }
  for (gsize i = 0; i < pairs_len; i += 2)
    gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                             data<Group>(group)->members[pairs[i]],
                                             data<Group>(group)->members[pairs[i + 1]]);
  return TRUE;
}

template <const GstAnalyticsMtdImpl& kImpl>
GstAnalyticsMtdType type_of() {
  return reinterpret_cast<GstAnalyticsMtdType>(&kImpl);
}

const KeypointApi kApi = {
    .keypoint_type = type_of<kPoint>,
    .add_keypoint = add_keypoint,
    .position =
        [](const GstAnalyticsMtd* mtd, gint* x, gint* y, gint* z, int* dimensions) {
          const auto* point = data<Point>(mtd);
          *x = point->x;
          *y = point->y;
          *z = point->z;
          *dimensions = 2;
          return gboolean{TRUE};
        },
    .confidence =
        [](const GstAnalyticsMtd* mtd, gfloat* out) {
          *out = data<Point>(mtd)->confidence;
          return gboolean{TRUE};
        },
    .visibility =
        [](const GstAnalyticsMtd* mtd, guint8* out) {
          *out = data<Point>(mtd)->visibility;
          return gboolean{TRUE};
        },
    .add_keypoints = add_keypoints,
    .group_type = type_of<kGroup>,
    .add_group = add_empty,
    .add_member = add_member,
    .set_tag = set_tag,
    .members = [](const GstAnalyticsMtd* mtd) { return gsize{data<Group>(mtd)->count}; },
    .member =
        [](const GstAnalyticsMtd* mtd, gsize i, GstAnalyticsMtd* out) {
          *out = {data<Group>(mtd)->members[i], mtd->meta};
          return gboolean{TRUE};
        },
    .tag = [](const GstAnalyticsMtd* mtd) { return g_strdup(data<Group>(mtd)->tag); },
};

class Keypoints : public ::testing::Test {
 protected:
  void SetUp() override { use_keypoint_api(&kApi); }
  void TearDown() override { use_keypoint_api(nullptr); }
};

const std::vector<Keypoint> kPose = {
    {10.5f, 20.25f, 0.9f}, {12, 22, 0.8f}, {-3.75f, 1, 0.5f}, {30, 40, 0.25f}};

Buffer with_body(gsize beside = 0) {
  Buffer frame = test::empty_frame();
  std::vector<FrameBox> list(beside, plain_box({1, 2, 3, 4}));
  list.push_back(with_points({10, 20, 50, 60}, kPose, *find_point_set("body-pose/alignment-4")));
  test::attach(frame.get(), list);
  return frame;
}

/// Reads boxes with space for other decoders' keypoints; ours are removed, as in an application
/// with an older library.
std::vector<FrameBox> read_groups(const Buffer& frame, KeypointStore& store) {
  std::vector<FrameBox> out = boxes(frame);
  auto* meta = gst_buffer_get_analytics_relation_meta(frame.get());
  store = {};
  for (FrameBox& box : out) box.keypoints = read_group(meta, box.od_id, store);
  return out;
}

TEST_F(Keypoints, AreWrittenAsGroups) {
  const Buffer frame = with_body();
  KeypointStore store;
  const FrameKeypoints group = read_groups(frame, store).at(0).keypoints;
  EXPECT_STREQ(g_quark_to_string(group.name), "body-pose/alignment-4");
  EXPECT_TRUE(std::ranges::equal(
      group.points,
      std::vector<Keypoint>{{11, 20, 0.9f}, {12, 22, 0.8f}, {-4, 1, 0.5f}, {30, 40, 0.25f}}));
  ASSERT_EQ(group.edges.size(), 2u);
  EXPECT_EQ(group.edges[1].from, 2);
  EXPECT_EQ(group.edges[1].to, 3);
  auto* meta = gst_buffer_get_analytics_relation_meta(frame.get());
  const auto groups = test::related<GstAnalyticsMtd>(meta, 0, type_of<kGroup>());
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(static_cast<int>(gst_analytics_relation_meta_get_relation(meta, 0, groups[0].id)),
            GST_ANALYTICS_REL_TYPE_CONTAIN | GST_ANALYTICS_REL_TYPE_RELATE_TO);
  EXPECT_EQ(gst_analytics_relation_meta_get_relation(meta, groups[0].id, 0),
            GST_ANALYTICS_REL_TYPE_IS_PART_OF);
}

TEST_F(Keypoints, AreOmittedIfTheyDoNotFit) {
  const Buffer frame = with_body(kMaxMtds - 5);
  EXPECT_EQ(test::related<GstAnalyticsMtd>(gst_buffer_get_analytics_relation_meta(frame.get()),
                                           kMaxMtds - 5, type_of<kGroup>())
                .size(),
            0u);
  EXPECT_EQ(boxes(frame).back().keypoints.points.size(), 4u) << "floats do";
  const Buffer other = test::empty_frame();
  std::vector<FrameBox> most(kMaxMtds - 5, plain_box({1, 2, 3, 4})),
      last = {with_points({10, 20, 50, 60}, kPose, *find_point_set("body-pose/alignment-4"))};
  test::attach(other.get(), most);
  test::attach(other.get(), last);
  EXPECT_EQ(test::related<GstAnalyticsMtd>(gst_buffer_get_analytics_relation_meta(other.get()),
                                           last[0].od_id, type_of<kGroup>())
                .size(),
            0u)
      << "next to what the frame has";
}

TEST_F(Keypoints, OfOtherDecodersAreRead) {
  const Buffer frame = test::empty_frame();
  FrameBox box = plain_box({10, 20, 50, 60});
  test::attach(frame.get(), std::span(&box, 1));
  const FrameKeypoints points{kPose, {}, 0};
  GstAnalyticsMtd other;  // of a different type
  add_empty(gst_buffer_get_analytics_relation_meta(frame.get()), 0, &other);
  gst_analytics_relation_meta_set_relation(other.meta, GST_ANALYTICS_REL_TYPE_CONTAIN, 0, other.id);
  add_group(gst_buffer_get_analytics_relation_meta(frame.get()), 0, points);
  std::vector<FrameBox> found;
  KeypointStore store;
  ASSERT_TRUE(read_boxes(frame.get(), found, &store));
  EXPECT_EQ(found.at(0).keypoints.points.size(), 4u);
  EXPECT_EQ(boxes(frame).at(0).keypoints.points.size(), 0u) << "nowhere to keep them";
  const Buffer ours = with_body();
  ASSERT_TRUE(read_boxes(ours.get(), found, &store));
  EXPECT_EQ(found.at(0).keypoints.points[0], kPose[0]) << "floats come first";
}

TEST_F(Keypoints, GoWithTheirObject) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_RGB, 64, 64);
  for (const bool inside : {true, false}) {
    const Buffer from = with_body(), to = test::empty_frame();
    FrameBox there = plain_box({1, 2, 30, 40});
    test::attach(to.get(), std::span(&there, 1));  // so that ids change
    const auto point_of = [](const Buffer& frame) {
      gpointer first = nullptr;
      GstAnalyticsMtd out{};
      gst_analytics_relation_meta_iterate(gst_buffer_get_analytics_relation_meta(frame.get()),
                                          &first, type_of<kPoint>(), &out);
      return data<Point>(&out);
    };
    point_of(from)->visibility = 3, point_of(from)->z = 9;
    carry_analytics(from.get(), info, to.get(), info, PixelMap::scale(2, 1, inside ? 0 : 1000),
                    MovedProvenance{});
    auto* meta = gst_buffer_get_analytics_relation_meta(to.get());
    gpointer state = nullptr;
    GstAnalyticsMtd mtd;
    gsize keypoints = 0;
    while (gst_analytics_relation_meta_iterate(meta, &state, type_of<kPoint>(), &mtd)) ++keypoints;
    EXPECT_EQ(keypoints, inside ? 4u : 0u);
    KeypointStore store;
    const auto found = read_groups(to, store);
    ASSERT_EQ(found.size(), inside ? 2u : 1u);
    if (!inside) continue;
    EXPECT_EQ(point_of(to)->visibility, 3);
    EXPECT_EQ(point_of(to)->z, 9);
    const FrameKeypoints& group = found[1].keypoints;
    ASSERT_EQ(group.points.size(), 4u);
    EXPECT_EQ(group.points[0], (Keypoint{22, 20, 0.9f}));
    EXPECT_EQ(group.edges.size(), 2u);
    EXPECT_STREQ(g_quark_to_string(group.name), "body-pose/alignment-4");
  }
}

}  // namespace
}  // namespace keepbox
