// SPDX-License-Identifier: LGPL-2.1-or-later
// Processors of a backend over several frames with changed settings and addresses: state kept
// between frames must not affect the boxes.
#include "core/run/processor.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/parity/ways.h"

namespace keepbox::test {
namespace {

TEST(Processors, ApplyChangedSettings) {
  size_t changed = 0;
  each_way([&](const Way& way, const Plan& plan, const std::vector<TensorView>& views,
               const Settings& settings, const std::string& name) {
    Settings other = settings;
    other.score_threshold = 0.6f;
    other.exclude_classes = {0};
    other.include_classes = {};
    auto expected = reference_of(plan);
    auto processor = way.processor(plan);
    ASSERT_TRUE(processor) << processor.error().message();
    // Few boxes first, so that memory that grows with their number has to grow.
    for (const Settings& each : {other, settings, other, settings}) {
      const Status retuned = expected.retune(each);
      ASSERT_EQ(processor->retune(each).has_value(), retuned.has_value()) << name;
      if (!retuned) return;
      ASSERT_TRUE(expected.run(views) && way.run(*processor, views)) << name;
      expect_same(expected, *processor, name);
      changed += expected.detections().size();
    }
  });
  EXPECT_GT(changed, 100u) << "too few frames with boxes";
}

TEST(Processors, AcceptChangedAddresses) {
  each_way([&](const Way& way, const Plan& plan, const std::vector<TensorView>& views,
               const Settings&, const std::string& name) {
    auto expected = reference_of(plan);
    auto processor = way.processor(plan);
    ASSERT_TRUE(processor) << processor.error().message();
    const auto moved = [](Letterbox map) {
      map.scale_x *= 2;
      map.scale_y *= 2;
      map.pad_y += 8;
      return map;
    };
    std::vector<Tile> tiles = plan.tiles;
    for (Tile& each : tiles) each.letterbox = moved(each.letterbox);
    const std::pair<Letterbox, std::vector<Tile>> maps[] = {{plan.letterbox, plan.tiles},
                                                            {moved(plan.letterbox), tiles}};
    for (const auto& [letterbox, of_tiles] : maps) {
      expected.refit(letterbox, of_tiles, letterbox.frame);
      processor->refit(letterbox, of_tiles, letterbox.frame);
      ASSERT_TRUE(expected.run(views) && way.run(*processor, views)) << name;
      expect_same(expected, *processor, name);
    }
  });
}

TEST(Processors, RejectUnplannedTensors) {
  each_way([&](const Way& way, const Plan& plan, const std::vector<TensorView>& views,
               const Settings&, const std::string& name) {
    auto processor = way.processor(plan);
    ASSERT_TRUE(processor) << processor.error().message();
    EXPECT_FALSE(processor->run(std::span(views).first(views.size() - 1))) << name;
    if (!way.name.starts_with("cuda")) return;  // whose memory is made for planned tensors
    EXPECT_NE(processor->run(views).has_value(), way.on_device) << name << ": the host's memory";
    auto longer = views;
    longer[0].shape = {longer[0].shape.dims()[0] + 1, 1};
    EXPECT_FALSE(way.run(*processor, longer)) << name;
    EXPECT_TRUE(way.run(*processor, views)) << name << ": the planned tensors, afterwards";
  });
}

}  // namespace
}  // namespace keepbox::test
