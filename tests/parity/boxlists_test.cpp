// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression alone by every backend, for random lists of boxes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <format>
#include <string>

#include "core/model/contracts.h"
#include "core/model/nms_methods.h"
#include "core/reference/backend.h"
#include "tests/boxlist.h"
#include "tests/parity/candidates.h"
#include "tests/parity/cuda_subject.h"
#include "tests/parity/makers.h"

namespace keepbox::test {
namespace {

/// A list of boxes and how to suppress it.
struct BoxCase {
  Settings settings = suppression_defaults();
  BoxTable table;

  std::string to_string() const {
    return std::format("{} boxes, {} problems, {}, contract {}, method {}", table.count(),
                       table.starts.size(), table.oriented ? "oriented" : "upright",
                       settings.nms_contract, static_cast<int>(settings.nms_method));
  }
};

/// Returns settings with a random method, contract and limits.
Settings any_settings(Random& random, int boxes) {
  Settings out = suppression_defaults();
  const auto last = static_cast<int>(std::size(kNmsMethods)) - 1;
  if (pick(random, 0, 1) == 0) out.nms_method = kNmsMethods[pick(random, 0, last)].method;
  if (pick(random, 0, 2) != 0)
    out.nms_contract =
        contracts()[size_t(pick(random, 0, static_cast<int>(contracts().size()) - 1))].name;
  out.iou_threshold = pick(random, 0, 4) == 0 ? 0.0f : uniform(random, 0.05f, 0.95f);
  out.nms_sigma = uniform(random, 0.05f, 1);
  out.class_agnostic = pick(random, 0, 3) == 0;
  if (pick(random, 0, 1) == 0) out.score_threshold = uniform(random, -0.2f, 0.6f);
  if (pick(random, 0, 2) == 0)
    out.max_detections = static_cast<uint32_t>(pick(random, 0, boxes + 1));
  if (pick(random, 0, 5) == 0) out.class_top_k = static_cast<uint32_t>(pick(random, 1, 9));
  if (pick(random, 0, 5) == 0)
    out.pre_nms_top_k = static_cast<uint32_t>(pick(random, 1, boxes + 1));
  return out;
}

/// Adds objects of several boxes each.
void add_problem(Random& random, int boxes, BoxTable& out) {
  static constexpr float kScales[] = {1.0f / 640, 1, 1, 300}, kPlaces[] = {0, 0, -320, 5e6f};
  const float scale = kScales[pick(random, 0, 3)], at = kPlaces[pick(random, 0, 3)];
  const int classes = pick(random, 0, 3) == 0 ? static_cast<int>(kMaxClasses) : pick(random, 1, 9);
  const bool whole = pick(random, 0, 1) == 0, odd = pick(random, 0, 3) == 0;
  const int scores = pick(random, 0, 1) == 0 ? 20 : 1 << 20;
  float x = 0, y = 0, w = 0, h = 0;
  for (int i = 0; i < boxes; ++i) {
    if (i % 7 == 0) {
      x = uniform(random, 0, 640), y = uniform(random, 0, 640);
      w = uniform(random, 5, 120), h = uniform(random, 5, 120);
    }
    std::vector<float> v{x + uniform(random, -0.2f, 0.2f) * w, y + uniform(random, -0.2f, 0.2f) * h,
                         w * uniform(random, 0.8f, 1.2f), h * uniform(random, 0.8f, 1.2f)};
    if (whole)
      for (float& each : v) each = std::round(each);
    if (!out.oriented) v = {v[0], v[1], v[0] + v[2], v[1] + v[3]};
    for (float& each : v) each *= scale;
    for (const size_t place : {0, 1}) v[place] += at;
    if (out.oriented) v.push_back(uniform(random, -4, 4));
    else v[2] += at, v[3] += at;
    if (!out.oriented && pick(random, 0, 30) == 0) std::swap(v[0], v[2]);
    if (odd && pick(random, 0, 20) == 0)
      v[size_t(pick(random, 0, static_cast<int>(v.size()) - 1))] =
          pick(random, 0, 1) == 0 ? kNan : kInfinity;
    float score =
        static_cast<float>(pick(random, -scores / 5, scores)) / static_cast<float>(scores);
    if (odd && pick(random, 0, 20) == 0) score = pick(random, 0, 1) == 0 ? kNan : -kInfinity;
    out.add(v, score, pick(random, 0, classes - 1));
  }
}

/// Returns the number of boxes of a problem: often near the limit of one launch.
int size_of_problem(Random& random, const Settings& settings) {
  const NmsMethod method = settings.nms_method;
  const bool all_pairs = method != NmsMethod::kAuto && !traits_of(method).exact &&
                         method != NmsMethod::kFast && method != NmsMethod::kNone;
  if (all_pairs) return pick(random, 0, 400);
  switch (pick(random, 0, 11)) {
    case 0: return pick(random, 0, 3);
    case 1: return 2048 + pick(random, -1, 1);
    case 2: return pick(random, 2100, 5000);
    default: return pick(random, 0, 700);
  }
}

BoxCase box_case(unsigned seed) {
  Random random(seed);
  BoxCase out;
  out.settings = any_settings(random, 300);
  out.table.oriented = pick(random, 0, 3) == 0;
  const bool classes = pick(random, 0, 3) != 0;
  const int problems = pick(random, 0, 2) == 0 ? pick(random, 2, 150) : 1;
  for (int i = 0; i < problems; ++i) {
    if (problems > 1) out.table.starts.push_back(out.table.count());
    const int boxes =
        problems > 1 && i % 9 != 0 ? pick(random, 0, 30) : size_of_problem(random, out.settings);
    add_problem(random, out.table.oriented ? boxes / 2 : boxes, out.table);
  }
  if (!classes) out.table.classes.clear();
  return out;
}

/// Returns the ways of suppressing a case by a backend: one, or two on a device.
std::vector<Result<KeptOf>> ways(const Backend& backend, const BoxCase& each) {
  if (backend.memory == MemorySpace::kSystem)
    return {suppressed(each.settings, backend, each.table)};
  auto suppressor = Suppressor::create(each.settings, each.table.oriented, backend);
  if (!suppressor) return {std::unexpected(suppressor.error())};
  return {suppressed_on_device(*suppressor, each.table, true),
          suppressed_on_device(*suppressor, each.table, false)};
}

TEST(BoxLists, MatchTheReference) {
  size_t backends = 0;
  for (const std::string& name : candidates()) {
    if (name.starts_with("cuda ") && name != "cuda staged") continue;
    const Backend backend = candidate(name);
    ++backends;
    size_t wrong = 0, compared = 0, kept = 0;
    for (unsigned seed = 0; seed < 4 * seeds && wrong < 5; ++seed) {
      const BoxCase each = box_case(seed);
      const auto want = suppressed(each.settings, reference::backend(), each.table);
      if (!want) continue;
      for (const auto& got : ways(backend, each)) {
        if (!got && got.error().kind == ErrorKind::kUnsupported) continue;
        ++compared;
        for (const auto& problem : *want) kept += problem.size();
        const bool same = got && *got == *want;
        EXPECT_TRUE(same) << std::format("{} seed {}: {}{}", name, seed, each.to_string(),
                                         got ? "" : ": " + got.error().message());
        wrong += same ? 0 : 1;
      }
    }
    EXPECT_GT(compared, 3 * seeds) << name;
    EXPECT_GT(kept, 50 * seeds) << name;
  }
  if (backends == 0) GTEST_SKIP() << "the reference is the only backend here";
}

TEST(BoxLists, OneSuppressorTakesAllOfThem) {
  if (cuda_subjects().empty()) GTEST_SKIP() << "no CUDA device";
  const Backend backend = candidate("cuda");
  for (const bool oriented : {false, true}) {
    auto suppressor = Suppressor::create(suppression_defaults(), oriented, backend);
    ASSERT_TRUE(suppressor) << suppressor.error().message();
    for (unsigned seed = 0; seed < 4 * seeds; ++seed) {
      const BoxCase each = box_case(seed);
      if (each.table.oriented != oriented) continue;
      const auto want = suppressed(suppression_defaults(), reference::backend(), each.table);
      const auto got = suppressed_on_device(*suppressor, each.table, seed % 2 == 0);
      ASSERT_TRUE(got) << got.error().message();
      EXPECT_EQ(*got, *want) << seed << ' ' << each.to_string();
    }
  }
}

TEST(BoxLists, OnADeviceHaveClasses) {
  if (cuda_subjects().empty()) GTEST_SKIP() << "no CUDA device";
  auto suppressor = Suppressor::create(suppression_defaults(), false, candidate("cuda"));
  ASSERT_TRUE(suppressor) << suppressor.error().message();
  BoxTable table;
  for (int i = 0; i < 3; ++i) table.add({0, 0, 9, 9}, 0.5f, i == 1 ? 2048 : i);
  const auto waited = suppressed_on_device(*suppressor, table, true);
  ASSERT_FALSE(waited);
  EXPECT_EQ(
      waited.error().message(),
      "The class of box 1 is not one of 0 to 2047. Number the classes from 0, or pass none to "
      "let all boxes suppress each other.");
  const auto enqueued = suppressed_on_device(*suppressor, table, false);
  ASSERT_TRUE(enqueued) << enqueued.error().message();
  EXPECT_EQ(*enqueued, (KeptOf{{0, 2}}));
  table.classes[1] = 3;
  EXPECT_EQ(suppressed_on_device(*suppressor, table, true).value_or(KeptOf()), (KeptOf{{0, 1, 2}}));
}

TEST(BoxLists, OnTheHostAreNotOnADevice) {
  if (cuda_subjects().empty()) GTEST_SKIP() << "no CUDA device";
  auto suppressor = Suppressor::create(suppression_defaults(), false, candidate("cuda"));
  ASSERT_TRUE(suppressor) << suppressor.error().message();
  BoxTable table;
  table.add({0, 0, 9, 9}, 0.5f);
  int64_t index = 0;
  uint32_t count = 0;
  const Status status = suppressor->run({.memory = MemorySpace::kCuda,
                                         .list = {table.boxes.data(), table.scores.data()},
                                         .boxes = 1,
                                         .indices = &index,
                                         .counts = &count});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().statement(), "The boxes are not in CUDA memory");
}

}  // namespace
}  // namespace keepbox::test
