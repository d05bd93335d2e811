// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts of objects per topic.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gst/metas/framebox.h"
#include "gst/metas/skippedmodels.h"
#include "gst/publish/topics.h"

namespace keepbox {

/// The number of boxes of each topic: of each class that was seen, and of all. Names that give the
/// same topic are counted together.
class Counts {
 public:
  static constexpr size_t kMaxTopics = 10000;

  /// Counts the boxes of a frame. Models that did not look at it keep their numbers.
  void set(std::span<const FrameBox> boxes, const SkippedModels& skipped,
           const TopicPattern& topics, const std::string& source);
  /// Sets all numbers to 0.
  void clear();

  /// Returns topics with their numbers. @param changed only those that differ from the last ones
  /// that were returned.
  std::vector<std::pair<std::string, uint32_t>> take(bool changed);

  bool empty() const { return counts_.empty(); }
  /// True if boxes were not counted because there are too many topics.
  bool is_full() const { return full_; }

 private:
  struct Count {
    std::map<GQuark, uint32_t> of_models;
    std::optional<uint32_t> taken;
  };
  void add(const std::string& topic, GQuark model, uint32_t more);

  std::map<std::string, Count> counts_;
  bool full_ = false;
};

/// Returns the values of a topic for a box.
TopicValues topic_values(const FrameBox& box, const std::string& source);

}  // namespace keepbox
