// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts of objects per topic, and limits of how often something happens.
#include "gst/publish/counts.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "gst/publish/messages.h"

namespace keepbox::test {
namespace {

using Numbers = std::vector<std::pair<std::string, uint32_t>>;

TEST(Counts, HaveTheValuesOfTheirBoxes) {
  const FrameBox boxes[] = {
      {.label = g_quark_from_string("dog"), .model = g_quark_from_string("m"), .tracking_id = 7},
      {.class_id = 3}};
  const auto topics = TopicPattern::parse("{source}/{class}/{model}/{id}", "topic-counts");
  Counts counts;
  counts.set(boxes, {}, *topics, "front");
  EXPECT_EQ(counts.take(false), (Numbers{{"front/all/_/_", 1},
                                         {"front/all/m/7", 1},
                                         {"front/class-3/_/_", 1},
                                         {"front/dog/m/7", 1}}));
}

/// MQTT has no other name for these, and a topic has one number.
TEST(Counts, AddLabelsOfOneTopic) {
  const FrameBox boxes[] = {{.label = g_quark_from_string("a/b")},
                            {.label = g_quark_from_string("a_b")},
                            {.label = g_quark_from_string("all")}};
  const auto topics = TopicPattern::parse("{class}", "topic-counts");
  Counts counts;
  counts.set(boxes, {}, *topics, "");
  EXPECT_EQ(counts.take(false), (Numbers{{"a_b", 2}, {"all", 3}}));
}

TEST(Counts, HaveALimitOfTopics) {
  std::vector<FrameBox> boxes(Counts::kMaxTopics + 5);
  for (size_t i = 0; i < boxes.size(); ++i) boxes[i].class_id = static_cast<uint32_t>(i);
  const auto topics = TopicPattern::parse("{class}", "topic-counts");
  Counts counts;
  EXPECT_FALSE(counts.is_full());
  counts.set(boxes, {}, *topics, "");
  EXPECT_TRUE(counts.is_full());
  EXPECT_EQ(counts.take(false).size(), Counts::kMaxTopics);
  counts.set(std::span(boxes).first(1), {}, *topics, "");
  EXPECT_EQ(counts.take(false).front(), std::pair(std::string("all"), 1u)) << "known ones go on";
}

/// Returns which of some times, in milliseconds, pass at five a second.
std::vector<int> passing(const std::vector<int>& times) {
  Pace pace(5);
  std::vector<int> out;
  for (const int time : times)
    if (pace.passes(static_cast<uint64_t>(time) * 1'000'000)) out.push_back(time);
  return out;
}

TEST(Pace, IsThatOfTheLongRun) {
  EXPECT_EQ(passing({0, 100, 199, 200, 399, 400}), (std::vector{0, 200, 400}));
  EXPECT_EQ(passing({0, 230, 390, 400, 610}), (std::vector{0, 230, 400, 610})) << "a little late";
  EXPECT_EQ(passing({0, 700, 800, 899, 900}), (std::vector{0, 700, 900})) << "after a pause";
  EXPECT_EQ(passing({800, 100, 200, 300}), (std::vector{800, 100, 300})) << "after a seek back";
}

}  // namespace
}  // namespace keepbox::test
