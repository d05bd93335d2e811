// SPDX-License-Identifier: LGPL-2.1-or-later
// The contracts of geometries and of readers of values: a type with a member missing is rejected.
#include <gtest/gtest.h>

#include "core/formula/oriented.h"
#include "core/formula/score.h"
#include "core/reference/backend.h"

namespace keepbox {
namespace {

struct WithoutDistance : Upright {
  static void distance() {}  // hides that of boxes
};

struct WithoutAnArea : OrientedPolygon {
  static void area() {}
};

struct WithDoubles : Upright {
  static double measure(const Rules&, const Shape&, float, const Shape&, float) { return 0; }
};

struct WithoutAShape {};

struct HostReader : reference::Values {
  using Values::Values;
};

struct WithoutChannels : reference::Values {
  static float get(FieldId, uint32_t) { return 0; }
};

struct WithoutRules {
  Tables tables;
  uint32_t image = 0;
  static bool has(FieldId) { return false; }
  static float get(FieldId, uint32_t, uint32_t = 0) { return 0; }
};

TEST(Concepts, AcceptCompleteTypes) {
  EXPECT_TRUE(BoxGeometry<Upright>);
  EXPECT_TRUE(BoxGeometry<OrientedPolygon>);
  EXPECT_TRUE(BoxGeometry<OrientedGaussian>);
  EXPECT_TRUE(AnchorReader<HostReader>);
}

TEST(Concepts, RejectTypesWithMissingMembers) {
  EXPECT_FALSE(BoxGeometry<WithoutDistance>);
  EXPECT_FALSE(BoxGeometry<WithoutAnArea>);
  EXPECT_FALSE(BoxGeometry<WithDoubles>);
  EXPECT_FALSE(BoxGeometry<WithoutAShape>);
  EXPECT_FALSE(AnchorReader<WithoutChannels>);
  EXPECT_FALSE(AnchorReader<WithoutRules>);
}

}  // namespace
}  // namespace keepbox
