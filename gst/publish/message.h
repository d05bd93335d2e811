// SPDX-License-Identifier: LGPL-2.1-or-later
// A message for a broker.
#pragma once

#include <cstddef>
#include <string>

namespace keepbox {

struct Message {
  std::string topic;
  std::string payload;
  int qos = 1;          // 0: at most once, 1: at least once, 2: once
  bool retain = false;  // the broker keeps it for later subscribers
  bool state = false;   // only the newest one of its topic is true

  size_t bytes() const { return topic.size() + payload.size(); }
  friend bool operator==(const Message&, const Message&) = default;
};

}  // namespace keepbox
