// SPDX-License-Identifier: LGPL-2.1-or-later
// Which recorded frame belongs to a buffer: by its time, or by counting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace keepbox {

struct FrameRate {
  int numerator = 0, denominator = 1;  // 0/1 is unknown or variable
};

/// When the frames of a recording begin, in nanoseconds of stream time. A frame stands until the
/// next one begins. Numbers below 0 and from frames() on are those of the recording repeated.
class Timeline {
 public:
  static constexpr int64_t kLatest = int64_t{1} << 61;   // 73 years, on both sides of 0
  static constexpr int64_t kLongest = int64_t{1} << 53;  // 104 days

  /// No times.
  Timeline() = default;
  /// @param times not empty, increasing, within kLatest, kLongest from first to last.
  /// @param last how long the last frame stands; 0 as long as the one before it,
  /// or a thirtieth of a second.
  Timeline(std::vector<int64_t> times, int64_t last);
  /// Frames at a rate from 0 on, however many. @pre there are some, and the rate is above 0.
  Timeline(int64_t frames, FrameRate rate);

  bool empty() const { return frames_ == 0; }
  int64_t frames() const { return frames_; }
  int64_t first() const { return time(0); }
  int64_t end() const { return first() + length_; }
  /// Mean time between frames.
  int64_t interval() const { return length_ / frames(); }

  int64_t begin_of(int64_t frame) const;
  /// The frame that stands at a time, or the next one when it begins within what containers round
  /// times by: 1 ms, or a quarter of a shorter frame.
  /// @param duration of what is at that time, 0 unknown: a quarter of it is another limit, because
  /// decoders cut the first frame after a seek to what is left of it.
  int64_t frame_at(int64_t time, int64_t duration = 0) const;

 private:
  int64_t time(int64_t frame) const;
  int64_t last_until(int64_t time) const;

  std::vector<int64_t> times_;  // empty where frames come at a rate
  FrameRate rate_;
  int64_t frames_ = 0, length_ = 0;
};

enum class SyncMode { kAuto, kTimestamp, kCount };

/// What is known of a buffer.
struct Moment {
  std::optional<int64_t> time;     // its stream time
  int64_t duration = 0;            // 0 unknown
  std::optional<int64_t> segment;  // that of where a seek went
  FrameRate rate;
  bool backward = false;  // it is followed by earlier ones
};

/// Finds the recorded frame of each buffer of a stream.
class FrameFinder {
 public:
  enum class Where { kFrame, kOutside, kEnd };  // outside: others that follow may be inside
  struct Found {
    Where where;
    size_t frame;  // of kFrame
  };

  FrameFinder() = default;
  /// @param frames how many there are. @param timeline theirs, or an empty one: then they are
  /// counted whatever the mode. @param offset what recorded times are behind those of the stream.
  FrameFinder(size_t frames, Timeline timeline, SyncMode mode, int64_t offset);

  Found next(const Moment& moment, bool loop);
  /// The next buffer does not follow the last one.
  void seek();

  /// How far the recording was moved because the stream began outside it, if it was.
  std::optional<int64_t> moved() const { return moved_; }
  /// Did a seek go where counting cannot follow? Then counting went on.
  bool lost() const { return lost_; }

 private:
  bool by_time(const Moment& moment) const;
  void align(const Moment& moment);
  int64_t at(const Moment& moment, bool loop);
  int64_t counted(const Moment& moment);

  int64_t frames_ = 0;
  Timeline timeline_;
  SyncMode mode_ = SyncMode::kAuto;
  int64_t offset_ = 0;  // between recorded times and the stream's
  int64_t shift_ = 0;   // the same in the present round of a loop
  int64_t next_ = 0;    // when frames are counted
  bool begun_ = false, sought_ = false, lost_ = false;
  std::optional<int64_t> moved_;
};

}  // namespace keepbox
