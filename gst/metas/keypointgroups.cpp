// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds GStreamer's keypoints by name, writes and reads them.
#include "gst/metas/keypointgroups.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "gst/base/library.h"

namespace keepbox {
namespace {

constexpr int kFlat = 2;  // two dimensions

const KeypointApi* for_tests = nullptr;

std::optional<KeypointApi> find_api() {
  KeypointApi api{};
  const bool whole =
      find_function(api.keypoint_type, "gst_analytics_keypoint_mtd_get_mtd_type") &&
      find_function(api.add_keypoint, "gst_analytics_relation_meta_add_keypoint_mtd") &&
      find_function(api.position, "gst_analytics_keypoint_mtd_get_position") &&
      find_function(api.confidence, "gst_analytics_keypoint_mtd_get_confidence") &&
      find_function(api.visibility, "gst_analytics_keypoint_mtd_get_visibility_flags") &&
      find_function(api.add_keypoints, "gst_analytics_relation_meta_add_keypoints_group") &&
      find_function(api.group_type, "gst_analytics_group_mtd_get_mtd_type") &&
      find_function(api.add_group, "gst_analytics_relation_meta_add_group_mtd_with_size") &&
      find_function(api.add_member, "gst_analytics_group_mtd_add_member") &&
      find_function(api.set_tag, "gst_analytics_group_mtd_set_semantic_tag") &&
      find_function(api.members, "gst_analytics_group_mtd_get_member_count") &&
      find_function(api.member, "gst_analytics_group_mtd_get_member") &&
      find_function(api.tag, "gst_analytics_group_mtd_get_semantic_tag");
  return whole ? std::optional(api) : std::nullopt;
}

gint whole(double v) {
  constexpr double kFar = 1 << 24;
  return static_cast<gint>(v > -kFar ? std::floor(std::min(v, kFar) + 0.5) : -kFar);
}

/// Returns the lines, which are relations between keypoints; drawing code expects the lower index
/// first.
std::vector<Edge> edges_among(const std::vector<GstAnalyticsMtd>& points) {
  std::vector<Edge> out;
  if (points.size() > std::numeric_limits<uint8_t>::max()) return out;
  for (uint8_t a = 0; a < points.size(); ++a)
    for (auto b = static_cast<uint8_t>(a + 1); b < points.size(); ++b)
      if ((gst_analytics_relation_meta_get_relation(points[a].meta, points[a].id, points[b].id) &
           GST_ANALYTICS_REL_TYPE_RELATE_TO) != 0)
        out.push_back({a, b});
  return out;
}

std::vector<GstAnalyticsMtd> keypoints_of(const KeypointApi& api, const GstAnalyticsMtd& group) {
  std::vector<GstAnalyticsMtd> out;
  GstAnalyticsMtd member;
  for (gsize i = 0; i < api.members(&group); ++i)
    if (api.member(&group, i, &member) && is_keypoint(gst_analytics_mtd_get_mtd_type(&member)))
      out.push_back(member);
  return out;
}

Keypoint read_keypoint(const KeypointApi& api, const GstAnalyticsMtd& mtd) {
  gint x = 0, y = 0, z = 0;
  int dimensions = 0;
  Keypoint out;
  api.position(&mtd, &x, &y, &z, &dimensions);
  api.confidence(&mtd, &out.score);
  out.x = static_cast<float>(x);
  out.y = static_cast<float>(y);
  return out;
}

}  // namespace

const KeypointApi* keypoint_api() {
  static const std::optional<KeypointApi> found = find_api();
  if (for_tests != nullptr) return for_tests;
  return found ? &*found : nullptr;
}

void use_keypoint_api(const KeypointApi* api) { for_tests = api; }

gsize mtds_of_group(const FrameKeypoints& keypoints) {
  return keypoints.points.empty() || keypoint_api() == nullptr ? 0 : keypoints.points.size() + 1;
}

void add_group(GstAnalyticsRelationMeta* meta, guint od_id, const FrameKeypoints& keypoints) {
  std::vector<gint> positions, pairs;
  std::vector<gfloat> scores;
  for (const Keypoint& point : keypoints.points) {
    positions.insert(positions.end(), {whole(point.x), whole(point.y)});
    scores.push_back(point.score);
  }
  for (const Edge& edge : keypoints.edges) pairs.insert(pairs.end(), {edge.from, edge.to});
  const char* name = keypoints.name != 0 ? g_quark_to_string(keypoints.name) : "points";
  GstAnalyticsMtd group{};
  if (!keypoint_api()->add_keypoints(meta, name, kFlat, positions.size(), positions.data(),
                                     scores.size(), scores.data(), nullptr, pairs.size(),
                                     pairs.data(), &group))
    return;
  gst_analytics_relation_meta_set_relation(
      meta,
      static_cast<GstAnalyticsRelTypes>(GST_ANALYTICS_REL_TYPE_CONTAIN |
                                        GST_ANALYTICS_REL_TYPE_RELATE_TO),
      od_id, group.id);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF, group.id,
                                           od_id);
}

FrameKeypoints read_group(GstAnalyticsRelationMeta* meta, guint od_id, KeypointStore& store) {
  const KeypointApi* api = keypoint_api();
  gpointer state = nullptr;
  GstAnalyticsMtd group;
  while (api != nullptr &&
         gst_analytics_relation_meta_get_direct_related(meta, od_id, GST_ANALYTICS_REL_TYPE_ANY,
                                                        api->group_type(), &state, &group)) {
    const std::vector<GstAnalyticsMtd> members = keypoints_of(*api, group);
    if (members.empty()) continue;
    std::vector<Keypoint>& points = store.points.emplace_back();
    for (const GstAnalyticsMtd& member : members) points.push_back(read_keypoint(*api, member));
    g_autofree gchar* tag = api->tag(&group);
    return {points, store.edges.emplace_back(edges_among(members)),
            tag != nullptr && *tag != '\0' ? g_quark_from_string(tag) : 0};
  }
  return {};
}

bool is_group(GstAnalyticsMtdType type) {
  return keypoint_api() != nullptr && keypoint_api()->group_type() == type;
}

bool is_keypoint(GstAnalyticsMtdType type) {
  return keypoint_api() != nullptr && keypoint_api()->keypoint_type() == type;
}

guint carry_keypoint(const GstAnalyticsMtd& keypoint, GstAnalyticsRelationMeta* to,
                     const PixelMap& map) {
  const KeypointApi& api = *keypoint_api();
  gint x = 0, y = 0, z = 0;
  int dimensions = kFlat;
  guint8 visibility = 0;
  gfloat confidence = 0;
  api.position(&keypoint, &x, &y, &z, &dimensions);
  api.confidence(&keypoint, &confidence);
  api.visibility(&keypoint, &visibility);
  const auto there = map.point(x, y);
  GstAnalyticsMtd added{};
  api.add_keypoint(to, dimensions, whole(there.x), whole(there.y), z, visibility, confidence,
                   &added);
  return added.id;
}

}  // namespace keepbox
