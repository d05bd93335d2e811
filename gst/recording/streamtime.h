// SPDX-License-Identifier: LGPL-2.1-or-later
// Stream time, by which recordings identify frames; seeks and containers do not change it.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <optional>

#include "gst/recording/timeline.h"

namespace keepbox {

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
