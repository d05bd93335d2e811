// SPDX-License-Identifier: LGPL-2.1-or-later
// Topics with placeholders.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace keepbox {

/// Values of placeholders.
struct TopicValues {
  std::string source, label, model, id;
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

}  // namespace keepbox
