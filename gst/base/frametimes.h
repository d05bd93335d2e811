// SPDX-License-Identifier: LGPL-2.1-or-later
// Running times of frames, also of those without timestamps.
#pragma once

#include <gst/gst.h>

#include <cstdint>

namespace keepbox {

/// Returns the interval of frames in ns by their caps; 0 if it varies.
int64_t interval_of(const GstCaps* caps);

/// Returns the running time of a frame in ns; without one, that of the next frame after `last`.
/// @param interval of frames in ns; 0: that of 30 frames per second
int64_t running_time_after(int64_t last, int64_t interval, const GstSegment& segment,
                           GstBuffer* buffer);

}  // namespace keepbox
