// SPDX-License-Identifier: LGPL-2.1-or-later
// The time of a stream whose timestamps may jump back, as after a camera's clock was set.
#pragma once

#include <algorithm>
#include <cstdint>

namespace keepbox {

/// How the time of a frame follows that of the frame before it.
enum class TimeStep : uint8_t {
  kOn,       // later; or earlier by a frame at most, which counts as the same time
  kBack,     // earlier by up to lost-after and a second: what is followed goes on from there
  kRestart,  // earlier than that: nothing goes on
};

/// Returns the step between two times. All are ns; times are 0 to 2^61.
/// @param interval of frames. @param lost_after time without a match after which objects are lost.
TimeStep step_between(int64_t last, int64_t time, int64_t interval, int64_t lost_after);

/// Measures the time that passes between the frames of a stream. It never goes back, but after a
/// restart.
class StreamClock {
 public:
  /// Takes the time of the next frame; the first one is kOn. Times are limited to 0 to 2^61. If the
  /// stream's time goes back, an interval has passed.
  TimeStep take(int64_t time, int64_t interval, int64_t lost_after);

  /// Returns the time of the frame; differences between two of these are times that have passed.
  int64_t now() const { return now_; }

  /// Returns what the stream's own time would have been at an earlier now(), at least 0.
  int64_t in_stream(int64_t then) const { return std::max<int64_t>(0, then - ahead_); }

 private:
  bool begun_ = false;
  int64_t last_ = 0;  // time of the stream
  int64_t now_ = 0;
  int64_t ahead_ = 0;  // of now_, relative to the stream's time
};

}  // namespace keepbox
