// SPDX-License-Identifier: LGPL-2.1-or-later
// Limits how often something happens.
#pragma once

#include <cstdint>
#include <optional>

namespace keepbox {

/// Passes at most so many events per second in the long run.
class Pace {
 public:
  /// @param rate per second; 0: no limit
  explicit Pace(double rate) : interval_(rate > 0 ? static_cast<uint64_t>(1e9 / rate) : 0) {}

  /// True if an event passes. @param time in ns; earlier than the last one after a flush
  bool passes(uint64_t time) {
    if (last_ && *last_ <= time && time < next_) return false;
    // Frames that come a little late do not slow the others down.
    const bool regular = last_ && *last_ <= time && time - next_ < interval_;
    next_ = (regular ? next_ : time) + interval_;
    last_ = time;
    return true;
  }

 private:
  uint64_t interval_;             // ns
  uint64_t next_ = 0;             // earliest next one
  std::optional<uint64_t> last_;  // that passed
};

}  // namespace keepbox
