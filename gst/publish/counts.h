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
#include "gst/publish/topics.h"

namespace keepbox {

/// The number of boxes of each topic: of each class that was seen, and of all.
class Counts {
 public:
  static constexpr size_t kMaxTopics = 10000;

  /// Counts the boxes of a frame.
  void set(std::span<const FrameBox> boxes, const TopicPattern& topics, const std::string& source);

  /// Returns topics with their numbers. @param changed only those that differ from the last ones
  /// that were returned.
  std::vector<std::pair<std::string, uint32_t>> take(bool changed);

 private:
  struct Count {
    uint32_t now = 0;
    std::optional<uint32_t> taken;
  };
  void add(const std::string& topic, uint32_t more);

  std::map<std::string, Count> counts_;
};

/// Returns the values of a topic for a box.
TopicValues topic_values(const FrameBox& box, const std::string& source);

}  // namespace keepbox
