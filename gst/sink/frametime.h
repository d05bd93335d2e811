// SPDX-License-Identifier: LGPL-2.1-or-later
// The times that a frame has: in its stream, of day, and of the clock that sent it.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <optional>
#include <string>

namespace keepbox {

/// Stream time of a buffer, ns; nothing without a timestamp, or before the stream's beginning.
std::optional<uint64_t> stream_time(const GstSegment& segment, GstBuffer* buffer);

struct WallTimeFormat {
  bool utc = false;           // else local time with its offset
  bool microseconds = false;  // else milliseconds
};

/// ISO 8601. @param time is consumed.
std::string iso_time(GDateTime* time, WallTimeFormat format);

/// The time of day of a buffer's time code; nullptr without one that has a date.
GDateTime* time_of_day(GstBuffer* buffer);

/// An RTP sender's time, ns since 1970; nothing where the source does not tell.
std::optional<uint64_t> sender_time(GstBuffer* buffer);

}  // namespace keepbox
