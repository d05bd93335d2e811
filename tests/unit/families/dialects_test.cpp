// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks that contracts differ on photos only for reasons found in their rules.
#include "tests/unit/families/dialects.h"

#include <gtest/gtest.h>

#include "tests/recorded.h"

namespace keepbox {
namespace {

TEST(Dialects, DifferencesFollowFromTheirRules) {
  if (!test::have_data()) GTEST_SKIP() << "no recorded tensors on this machine";
  unsigned differences = 0;
  for (const float score : {0.3f, 0.01f}) {
    const auto seen = test::compare_dialects(score, score > 0.1f ? 0.45f : 0.65f);
    EXPECT_EQ(seen.photos, 4u);
    EXPECT_GE(seen.boxes, 27u);
    for (const auto& each : seen.differences) {
      EXPECT_FALSE(each.reason.empty()) << each.contract << ' ' << test::to_string(each);
      ++differences;
    }
  }
  EXPECT_GE(differences, 1u);
}

}  // namespace
}  // namespace keepbox
