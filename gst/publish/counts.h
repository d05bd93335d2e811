// SPDX-License-Identifier: LGPL-2.1-or-later
// Topics of a source, and its counts per class.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gst/metas/boxes.h"
#include "gst/metas/skippedmodels.h"

namespace keepbox {

// Topics with placeholders.

/// Values of placeholders.
struct TopicValues {
  std::string source, label, model, id;
  std::string name{};  // of a line or zone
};

/// A topic such as keepbox/{source}/counts/{class}.
class TopicPattern {
 public:
  /// Fails for unknown placeholders, and for characters that MQTT does not allow in the topic of a
  /// message. @param property for errors
  static Result<TopicPattern> parse(const std::string& text, const char* property);

  /// Returns the topic. In values, the characters / + # and those that MQTT forbids become
  /// underscores, as does an empty value.
  std::string of(const TopicValues& values) const;

  /// Returns a filter for the topics of a source, with + for levels that have other values.
  std::string filter(const std::string& source) const;
  /// True if of() may return a topic for that source.
  bool makes(std::string_view topic, const std::string& source) const;

  bool empty() const { return parts_.empty(); }

 private:
  struct Part {
    std::string text;
    std::string TopicValues::* value = nullptr;  // after the text
  };
  std::string with_wildcards(const std::string& source) const;

  std::vector<Part> parts_;
};

// Counts of objects per topic.

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
