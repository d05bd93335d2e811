// SPDX-License-Identifier: LGPL-2.1-or-later
// Retained numbers that an earlier run left on the broker.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>

#include "core/base/result.h"
#include "gst/publish/broker.h"
#include "gst/publish/outbox.h"
#include "gst/publish/topics.h"

namespace keepbox {

/// Finds retained numbers of a source by one subscription, and sets to 0 those that this run does
/// not publish. For one thread.
class StaleCounts {
 public:
  /// @param topics of the numbers; an empty pattern: nothing is looked for
  StaleCounts(TopicPattern topics, std::string source, int qos);

  /// Adds the topic of a message that an earlier run did not send, if it is that of a number.
  void add(const std::string& topic);
  /// Asks a broker to which a connection was established, unless it has answered.
  void ask(Broker& broker);
  /// True if the broker has not answered yet.
  bool is_asking() const { return attempts_ > 0 && !answered_; }
  /// Takes what the broker has sent. @return a warning if it refuses the subscription; once
  std::optional<Error> collect(Broker& broker);
  /// Sets the numbers to 0 that were found so far. @pre this run has published its own
  void clear(Outbox& outbox);

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<Error> refused();

  TopicPattern pattern_;
  std::string source_, filter_;
  int qos_;
  std::set<std::string> topics_;
  int attempts_ = 0;
  bool answered_ = false;
  std::optional<Clock::time_point> until_;  // when the subscription ends
};

}  // namespace keepbox
