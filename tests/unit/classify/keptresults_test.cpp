// SPDX-License-Identifier: LGPL-2.1-or-later
// Results of tracked objects on later frames.
#include "gst/classify/results.h"

#include <gtest/gtest.h>

namespace keepbox::keptresults_test {
namespace {

constexpr GQuark kColour = 1, kKind = 2;

FrameBox tracked(guint od_id, guint64 id, GQuark model = 0) {
  return {.model = model, .od_id = od_id, .tracking_id = id};
}

/// Returns the colours of the objects of a frame in the end.
std::vector<ObjectLabel> completed(KeptResults& kept, const std::vector<FrameBox>& boxes,
                                   KeptResults::OfFrame results = {}) {
  kept.complete(boxes, KeepResults::kLast, results);
  return results[kColour];
}

/// Objects are forgotten after 1,000 frames without them, which is checked every 1,000 frames.
TEST(KeptResults, LastAsLongAsTheObjectIsSeen) {
  KeptResults kept;
  for (int i = 1; i < 999; ++i) completed(kept, {});
  completed(kept, {tracked(0, 10)}, {{kColour, {{.od_id = 0, .name = 5}}}});
  completed(kept, {tracked(0, 20)}, {{kColour, {{.od_id = 0, .name = 6}}}});
  completed(kept, {tracked(0, 30)}, {{kColour, {{.od_id = 0, .name = 7}}}});
  for (int i = 1002; i < 2000; ++i) completed(kept, {});
  const auto found = completed(kept, {tracked(0, 10), tracked(1, 20), tracked(2, 30)});
  ASSERT_EQ(found.size(), 2u) << "the first one was seen on frame 999";
  EXPECT_EQ(found[0].od_id, 1u);
  EXPECT_EQ(found[0].name, 6u);
  EXPECT_EQ(found[1].name, 7u);
}

TEST(KeptResults, AreOfOneModelsObject) {
  KeptResults kept;
  completed(kept, {tracked(0, 1, 1), tracked(1, 1, 2)},
            {{kColour, {{.od_id = 0, .name = 5, .level = 0.1f}, {.od_id = 1, .name = 6}}}});
  const auto found = completed(kept, {tracked(0, 1, 2), tracked(1, 1, 1), tracked(2, 1, 3)});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, 6u);
  EXPECT_EQ(found[1].name, 5u);
}

TEST(KeptResults, StayInTheOrderOfTheObjects) {
  KeptResults kept;
  const FrameBox untracked{.od_id = 3};
  completed(kept, {tracked(7, 1)}, {{kColour, {{.od_id = 7, .name = 5}}}});
  const auto found = completed(kept, {untracked, tracked(2, 1), tracked(4, 2)},
                               {{kColour, {{.od_id = 3, .name = 8}, {.od_id = 4, .name = 9}}},
                                {kKind, {{.od_id = 4, .name = 1}}}});
  ASSERT_EQ(found.size(), 3u);
  const std::vector<std::pair<guint, GQuark>> want{{2, 5}, {3, 8}, {4, 9}};
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(found[i].od_id, want[i].first) << i;
    EXPECT_EQ(found[i].name, want[i].second) << i;
  }
}

}  // namespace
}  // namespace keepbox::keptresults_test
