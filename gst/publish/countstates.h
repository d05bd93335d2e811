// SPDX-License-Identifier: LGPL-2.1-or-later
// States and events of lines and zones as messages.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gst/metas/counts.h"
#include "gst/publish/counts.h"
#include "gst/publish/properties.h"
#include "gst/sink/writer.h"

namespace keepbox {

/// A topic, and its text.
struct CountText {
  std::string topic, payload;
  bool of_line = false;
};

/// The state of the lines and zones of a stream: JSON objects, and the number of objects of each
/// class in each zone. Of names that give the same topic, the first one counts.
class CountStates {
 public:
  static constexpr size_t kMaxTopics = 10000;

  /// @param settings outlive this object
  explicit CountStates(const PublishSettings& settings) : settings_(settings) {}

  /// Takes the counts of a frame. One without counts changes nothing.
  void set(const FrameCounts* counts);
  /// Lets all objects leave their zones.
  void clear();

  /// Returns the state. @param changed only what differs from the last one that was returned. Time
  /// that objects spend in a zone is no change.
  std::vector<CountText> take(const Kinds& changed);

  /// Returns the text of events. @param counts of a frame, or of an event
  std::vector<CountText> events(const FrameCounts& counts, const FrameInfo& frame) const;

  /// True if something was left out because there are too many topics.
  bool is_full() const { return full_; }

 private:
  struct State {
    std::string payload;
    std::string content;  // what counts as a change
    bool of_line = false;
    bool is_number = false;
    bool present = false;  // in the counts that were taken last
    bool pending = true;   // its content has changed since it was returned
  };
  void put(const std::string& topic, State state);
  void put_line(const LineCount& line);
  void put_zone(const ZoneCount& zone, const FrameCounts& all);
  void put_numbers(const ZoneCount& zone);

  const PublishSettings& settings_;
  FrameCounts last_;
  std::map<std::string, State> states_;
  bool full_ = false;
};

}  // namespace keepbox
