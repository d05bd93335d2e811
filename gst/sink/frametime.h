// SPDX-License-Identifier: LGPL-2.1-or-later
// The times of a frame: in its stream, of day, and of the sender's clock.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <optional>
#include <string>

namespace keepbox {

/// Returns the stream time of a buffer in ns; std::nullopt without a timestamp, or before the start
/// of the stream.
std::optional<uint64_t> stream_time(const GstSegment& segment, GstBuffer* buffer);

/// Returns the running time of a buffer in ns; std::nullopt without a timestamp, or outside of the
/// segment.
std::optional<uint64_t> running_time(const GstSegment& segment, GstBuffer* buffer);

struct WallTimeFormat {
  bool utc = false;           // otherwise local time with its offset
  bool microseconds = false;  // otherwise milliseconds
};

/// Formats ISO 8601. @param time is consumed.
std::string iso_time(GDateTime* time, WallTimeFormat format);

/// Returns the time of day of a buffer's time code; nullptr without one that has a date.
GDateTime* time_of_day(GstBuffer* buffer);

/// Returns the RTP sender's time in ns since 1970; std::nullopt if the source does not provide it.
std::optional<uint64_t> sender_time(GstBuffer* buffer);

}  // namespace keepbox
