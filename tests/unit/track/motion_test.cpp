// SPDX-License-Identifier: LGPL-2.1-or-later
// Filters of motion against dense matrices, and their laws.
#include "core/track/track.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/unit/track/crowd.h"
#include "tests/unit/track/second.h"

namespace keepbox {
namespace {

void expect_near(const Box& a, const Box& b, float within, const char* what) {
  EXPECT_NEAR(a.x1, b.x1, within) << what;
  EXPECT_NEAR(a.y1, b.y1, within) << what;
  EXPECT_NEAR(a.x2, b.x2, within) << what;
  EXPECT_NEAR(a.y2, b.y2, within) << what;
}

class EachMotionModel : public testing::TestWithParam<MotionModel> {};
INSTANTIATE_TEST_SUITE_P(Motion, EachMotionModel,
                         testing::Values(MotionModel::kAreaAspect, MotionModel::kCenterHeight));

TEST_P(EachMotionModel, IsTheDenseFilter) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    test::Crowd crowd(1, seed, 4000);
    const Box first = crowd.next(0, 0)[0].box;
    Motion motion(GetParam(), first);
    test::DenseFilter dense(GetParam(), first);
    for (int frame = 0; frame < 100; ++frame) {
      const Box box = crowd.next(0, 0)[0].box;
      const bool seen = crowd.at(0, 1) < 0.8f;
      motion.advance(1, seen);
      dense.predict(seen);
      expect_near(motion.box(), dense.box(), 0.05f, "predicted");
      if (!seen) continue;
      motion.correct(box);
      dense.update(box);
      expect_near(motion.box(), dense.box(), 0.05f, "corrected");
    }
  }
}

TEST_P(EachMotionModel, TakesSeveralStepsAtOnce) {
  // Equal corrections afterwards show that the covariances are equal too.
  test::Crowd crowd(1, 7, 4000);
  const Box first = crowd.next(0, 0)[0].box;
  Motion at_once(GetParam(), first), in_steps(GetParam(), first), in_parts(GetParam(), first);
  for (int round = 0; round < 30; ++round) {
    at_once.advance(3);
    for (int i = 0; i < 3; ++i) in_steps.advance(1);
    for (const float part : {0.25f, 1.5f, 0.5f, 0.75f}) in_parts.advance(part);
    expect_near(at_once.box(), in_steps.box(), 0.5f, "steps");
    expect_near(at_once.box(), in_parts.box(), 0.5f, "parts");
    for (int i = 0; i < 2; ++i) crowd.next(0, 0);
    const Box box = crowd.next(0, 0)[0].box;
    at_once.correct(box);
    in_steps.correct(box);
    in_parts.correct(box);
    expect_near(at_once.box(), in_steps.box(), 0.5f, "corrected");
    expect_near(at_once.box(), in_parts.box(), 0.5f, "corrected");
  }
}

TEST(Coordinate, PredictionsAddUp) {
  const Coordinate start{1, 2, 3, 0.5f, 4};
  const Noise noise{0.5f, 0.25f};
  for (const auto& parts : {std::vector{1.0f, 1.0f, 1.0f, 1.0f}, {0.5f, 3.5f}, {2.75f, 0.25f, 1}}) {
    Coordinate once = start, in_parts = start;
    advance(once, 4, noise);
    for (const float part : parts) advance(in_parts, part, noise);
    EXPECT_NEAR(once.value, in_parts.value, 1e-5);
    EXPECT_NEAR(once.value_variance, in_parts.value_variance, 1e-4);
    EXPECT_NEAR(once.covariance, in_parts.covariance, 1e-5);
    EXPECT_NEAR(once.velocity_variance, in_parts.velocity_variance, 1e-5);
  }
}

TEST(Motion, StaysWhereItIsWithoutTime) {
  const Box box{10, 20, 50, 100};
  Motion motion(MotionModel::kCenterHeight, box);
  motion.advance(0);
  EXPECT_EQ(motion.box(), box);
}

TEST(Motion, AdaptsToSteadyMovement) {
  // An outlier moves an object less if its boxes were where they were expected before.
  float moved[2] = {};
  for (const bool adapts : {false, true}) {
    Motion motion(MotionModel::kCenterHeight, {0, 0, 40, 100}, adapts);
    for (int frame = 1; frame < 40; ++frame) {
      const float x = frame < 39 ? 0 : 20;
      motion.advance(4);
      motion.correct({x, 0, x + 40, 100});
    }
    moved[adapts] = motion.box().x1;
  }
  EXPECT_GT(moved[false], 14);
  EXPECT_LT(moved[true], 0.9f * moved[false]);
}

TEST(Motion, AdaptsToSuddenMovement) {
  // An object that turns again and again is followed as closely as with the usual noise.
  float error[2] = {};
  for (const bool adapts : {false, true}) {
    Motion motion(MotionModel::kCenterHeight, {0, 0, 40, 100}, adapts);
    float x = 0;
    for (int frame = 0; frame < 60; ++frame) {
      x += frame / 6 % 2 == 0 ? 40.0f : -40.0f;
      motion.advance(4);
      error[adapts] += std::abs(motion.box().x1 - x);
      motion.correct({x, 0, x + 40, 100});
    }
  }
  EXPECT_LE(error[1], error[0]);
}

TEST(Motion, AdaptsInByteTrackOnly) {
  Motion plain(MotionModel::kAreaAspect, {0, 0, 40, 100});
  Motion adapts(MotionModel::kAreaAspect, {0, 0, 40, 100}, true);
  for (Motion* each : {&plain, &adapts})
    for (int frame = 0; frame < 10; ++frame) {
      each->advance(1);
      each->correct({0, 0, 40, 100});
    }
  adapts.advance(3), plain.advance(3);
  EXPECT_EQ(plain.box(), adapts.box());
}

TEST(Motion, NeverInvertsABox) {
  Motion motion(MotionModel::kAreaAspect, {0, 0, 100, 100});
  for (float side = 90; side > 10; side -= 20) {
    motion.advance(1);
    motion.correct({0, 0, side, side});
  }
  motion.advance(1000);
  // The area stays as it is rather than vanish.
  const Box box = motion.box();
  EXPECT_GT(box.x2 - box.x1, 5);
  EXPECT_GT(box.y2 - box.y1, 5);
}

}  // namespace
}  // namespace keepbox
