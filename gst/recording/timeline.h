// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the recorded frame for a buffer: by its time, or by counting.
#pragma once

#include <gst/gst.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace keepbox {

struct FrameRate {
  int numerator = 0, denominator = 1;  // 0/1 is unknown or variable
};

/// Start times of a recording's frames, in nanoseconds of stream time. A frame lasts until the next
/// one begins. Numbers below 0 and from frames() on refer to the recording repeated.
class Timeline {
 public:
  static constexpr int64_t kLatest = int64_t{1} << 61;   // 73 years, on both sides of 0
  static constexpr int64_t kLongest = int64_t{1} << 53;  // 104 days

  /// Makes a timeline without times.
  Timeline() = default;
  /// @param times not empty, increasing, within kLatest, kLongest from first to last. @param last
  /// duration of the last frame; 0 for the duration of the one before it, or a thirtieth of a
  /// second.
  Timeline(std::vector<int64_t> times, int64_t last);
  /// Makes a timeline of frames at a constant rate from 0 on. @pre at least one frame, and a rate
  /// above 0.
  Timeline(int64_t frames, FrameRate rate);

  bool empty() const { return frames_ == 0; }
  int64_t frames() const { return frames_; }
  int64_t first() const { return time(0); }
  int64_t end() const { return first() + length_; }
  /// Returns the mean time between frames.
  int64_t interval() const { return length_ / frames(); }

  int64_t begin_of(int64_t frame) const;
  /// Returns the frame at a time, or the next one if it begins within the rounding of containers: 1
  /// ms, or a quarter of a shorter frame. @param duration of the buffer at that time, 0 if unknown:
  /// a quarter of it is another limit, because decoders shorten the first frame after a seek.
  int64_t frame_at(int64_t time, int64_t duration = 0) const;

 private:
  int64_t time(int64_t frame) const;
  int64_t last_until(int64_t time) const;

  std::vector<int64_t> times_;  // empty for a constant rate
  FrameRate rate_;
  int64_t frames_ = 0, length_ = 0;
};

enum class SyncMode { kAuto, kTimestamp, kCount };

/// The known properties of a buffer.
struct Moment {
  std::optional<int64_t> time;     // stream time
  int64_t duration = 0;            // 0 unknown
  std::optional<int64_t> segment;  // stream time of a seek's target
  FrameRate rate;
  bool backward = false;  // playing in reverse
};

/// Finds the recorded frame of each buffer of a stream.
class FrameFinder {
 public:
  enum class Where { kFrame, kOutside, kEnd };  // kOutside: later buffers may be inside
  struct Found {
    Where where;
    size_t frame;  // for kFrame
  };

  FrameFinder() = default;
  /// @param frames number of frames. @param timeline of the frames; if empty, they are counted in
  /// any mode. @param offset from recorded times to those of the stream.
  FrameFinder(size_t frames, Timeline timeline, SyncMode mode, int64_t offset);

  Found next(const Moment& moment, bool loop);
  /// Notes that the next buffer does not follow the last one.
  void seek();

  /// Returns by how much the recording was shifted because the stream began outside of it.
  std::optional<int64_t> moved() const { return moved_; }
  /// True if counting could not follow a seek; it then continued from the last frame.
  bool lost() const { return lost_; }

 private:
  bool by_time(const Moment& moment) const;
  void align(const Moment& moment);
  int64_t at(const Moment& moment, bool loop);
  int64_t counted(const Moment& moment);

  int64_t frames_ = 0;
  Timeline timeline_;
  SyncMode mode_ = SyncMode::kAuto;
  int64_t offset_ = 0;  // from recorded times to the stream's
  int64_t shift_ = 0;   // the offset in the current round of a loop
  int64_t next_ = 0;    // if frames are counted
  bool begun_ = false, seeked_ = false, lost_ = false;
  std::optional<int64_t> moved_;
};

// Stream time, by which recordings identify frames; seeks and containers do not change it.

/// Returns the stream time of a timestamp; std::nullopt if it is missing or out of range.
inline std::optional<int64_t> stream_time_of(const GstSegment& segment, GstClockTime time) {
  guint64 out = 0;
  if (segment.format != GST_FORMAT_TIME || !GST_CLOCK_TIME_IS_VALID(time)) return {};
  const int sign = gst_segment_to_stream_time_full(&segment, GST_FORMAT_TIME, time, &out);
  if (sign == 0 || out > static_cast<guint64>(Timeline::kLatest)) return {};
  return sign < 0 ? -static_cast<int64_t>(out) : static_cast<int64_t>(out);
}

/// Returns a duration; 0 if it is missing or out of range.
inline int64_t known_duration(GstClockTime duration) {
  return duration <= static_cast<GstClockTime>(Timeline::kLongest) ? static_cast<int64_t>(duration)
                                                                   : 0;
}

}  // namespace keepbox
