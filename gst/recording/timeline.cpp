// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds recorded frames by time and by number.
#include "gst/recording/timeline.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace keepbox {
namespace {

constexpr int64_t kTimeRounding = 1'000'000;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kDefaultDuration = kSecond / 30;

struct Round {
  int64_t number, rest;
};

/// Divides rounding down, so that the remainder is never negative.
Round round_of(int64_t value, int64_t length) {
  const int64_t rest = value % length;
  return rest < 0 ? Round{value / length - 1, rest + length} : Round{value / length, rest};
}

/// Returns by how much a buffer may be earlier than its frame.
int64_t rounding(int64_t interval, int64_t duration) {
  const int64_t limit = std::min(kTimeRounding, interval / 4);
  return duration > 0 ? std::min(limit, duration / 4) : limit;
}

std::optional<int64_t> frame_by_rate(int64_t time, int64_t duration, FrameRate rate) {
  if (time == 0) return 0;
  if (rate.numerator <= 0 || rate.denominator <= 0) return {};
  const double interval = double(kSecond) * rate.denominator / rate.numerator;
  const auto early = static_cast<double>(rounding(static_cast<int64_t>(interval), duration));
  constexpr double kMax = 1e15;  // far beyond any stream, and exact as a double
  return static_cast<int64_t>(
      std::clamp(std::floor((static_cast<double>(time) + early) / interval), -kMax, kMax));
}

}  // namespace

Timeline::Timeline(std::vector<int64_t> times, int64_t last)
    : times_(std::move(times)), frames_(static_cast<int64_t>(times_.size())) {
  const size_t count = times_.size();
  const int64_t before = count > 1 ? times_[count - 1] - times_[count - 2] : kDefaultDuration;
  length_ = times_.back() - times_.front() + (last > 0 ? std::min(last, kLongest) : before);
}

Timeline::Timeline(int64_t frames, FrameRate rate) : rate_(rate), frames_(frames) {
  // times are integer nanoseconds and must differ
  if (rate.numerator / rate.denominator >= kSecond) rate_ = {kSecond, 1};
  length_ = time(frames);
}

/// Returns the start of one of the recording's own frames, or its end.
int64_t Timeline::time(int64_t frame) const {
  if (!times_.empty()) return times_[static_cast<size_t>(frame)];
  const guint64 time = gst_util_uint64_scale(static_cast<guint64>(frame),
                                             static_cast<guint64>(rate_.denominator) * GST_SECOND,
                                             static_cast<guint64>(rate_.numerator));
  return static_cast<int64_t>(std::min(time, static_cast<guint64>(kLatest)));
}

/// Returns the last of the recording's own frames that begins by then. @pre time >= first()
int64_t Timeline::last_until(int64_t time) const {
  if (!times_.empty()) return std::ranges::upper_bound(times_, time) - times_.begin() - 1;
  const guint64 next = gst_util_uint64_scale_ceil(
      static_cast<guint64>(time) + 1, static_cast<guint64>(rate_.numerator),
      static_cast<guint64>(rate_.denominator) * GST_SECOND);
  return std::min(static_cast<int64_t>(next), frames_) - 1;
}

int64_t Timeline::begin_of(int64_t frame) const {
  const Round round = round_of(frame, frames());
  int64_t time = 0;
  if (__builtin_mul_overflow(round.number, length_, &time))
    time = round.number < 0 ? -kLatest : kLatest;
  return std::clamp(time, -kLatest, kLatest) + this->time(round.rest);
}

int64_t Timeline::frame_at(int64_t time, int64_t duration) const {
  const Round round = round_of(std::clamp(time, -kLatest, kLatest) - first(), length_);
  int64_t frame = last_until(round.rest + first());
  const int64_t from = this->time(frame);
  const int64_t to = frame + 1 == frames_ ? end() : this->time(frame + 1);
  if (to - (round.rest + first()) <= rounding(to - from, duration)) ++frame;
  return round.number * frames() + frame;
}

FrameFinder::FrameFinder(size_t frames, Timeline timeline, SyncMode mode, int64_t offset)
    : frames_(static_cast<int64_t>(frames)),
      timeline_(std::move(timeline)),
      mode_(mode),
      offset_(std::clamp(offset, -Timeline::kLatest, Timeline::kLatest)),
      shift_(offset_) {}

void FrameFinder::seek() {
  seeked_ = true;
  shift_ = offset_;
}

bool FrameFinder::by_time(const Moment& moment) const {
  return mode_ != SyncMode::kCount && !timeline_.empty() && moment.time;
}

/// Aligns the recording: live recordings begin at any time, the same frames in a file at 0.
void FrameFinder::align(const Moment& moment) {
  if (begun_ || mode_ != SyncMode::kAuto || offset_ != 0 || moment.backward) return;
  const int64_t frame = timeline_.frame_at(*moment.time, moment.duration);
  if (frame >= 0 && frame < frames_) return;
  offset_ = shift_ = *moment.time - timeline_.first();
  moved_ = offset_;
}

/// Advances in repeated recordings. Each round is aligned again with its first frame, so that
/// rounding of times does not add up.
int64_t FrameFinder::at(const Moment& moment, bool loop) {
  const int64_t time = *moment.time;
  const int64_t frame = timeline_.frame_at(time - shift_, moment.duration);
  if (loop && frame == next_ && frame != 0 && frame % frames_ == 0) {
    const int64_t early = timeline_.begin_of(frame) - (time - shift_);
    if (std::abs(early) <= timeline_.interval() / 4) shift_ -= early;
  }
  return frame;
}

int64_t FrameFinder::counted(const Moment& moment) {
  if (!seeked_) return next_;
  const std::optional<int64_t> time = moment.time ? moment.time : moment.segment;
  std::optional<int64_t> frame;
  if (time && !timeline_.empty()) frame = timeline_.frame_at(*time - offset_, moment.duration);
  else if (time) frame = frame_by_rate(*time, moment.duration, moment.rate);
  lost_ = lost_ || !frame;
  return frame.value_or(next_);
}

FrameFinder::Found FrameFinder::next(const Moment& moment, bool loop) {
  const bool timed = by_time(moment);
  if (timed) align(moment);
  const int64_t frame = timed ? at(moment, loop) : counted(moment);
  begun_ = true;
  seeked_ = false;
  next_ = frame + (moment.backward ? -1 : 1);
  if (loop) return {Where::kFrame, static_cast<size_t>(round_of(frame, frames_).rest)};
  if (frame >= 0 && frame < frames_) return {Where::kFrame, static_cast<size_t>(frame)};
  return {(frame < 0) == moment.backward ? Where::kEnd : Where::kOutside, 0};
}

}  // namespace keepbox
