// SPDX-License-Identifier: LGPL-2.1-or-later
// Decides what a time that is earlier than the one before means.
#include "core/track/streamclock.h"

#include <utility>

namespace keepbox {
namespace {

constexpr int64_t kPatience = 1'000'000'000;   // ns beyond lost-after
constexpr int64_t kLatest = int64_t{1} << 61;  // sums of three do not overflow

int64_t limited(int64_t time) { return std::clamp<int64_t>(time, 0, kLatest); }

}  // namespace

/// Half a frame more than one, because times are rounded.
TimeStep step_between(int64_t last, int64_t time, int64_t interval, int64_t lost_after) {
  const int64_t back = last - time;
  if (back <= limited(interval) + limited(interval) / 2) return TimeStep::kOn;
  return back <= limited(lost_after) + kPatience ? TimeStep::kBack : TimeStep::kRestart;
}

TimeStep StreamClock::take(int64_t time, int64_t interval, int64_t lost_after) {
  time = limited(time);
  TimeStep step = TimeStep::kOn;
  if (std::exchange(begun_, true)) step = step_between(last_, time, interval, lost_after);
  else last_ = time;
  if (step == TimeStep::kBack && now_ > kLatest) step = TimeStep::kRestart;
  if (step == TimeStep::kBack) ahead_ = now_ + limited(interval) - time;
  if (step == TimeStep::kRestart) ahead_ = 0;
  last_ = step == TimeStep::kOn ? std::max(last_, time) : time;
  now_ = last_ + ahead_;
  return step;
}

}  // namespace keepbox
