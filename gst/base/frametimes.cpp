// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts the frames that have no timestamps.
#include "gst/base/frametimes.h"

#include <algorithm>

namespace keepbox {
namespace {

constexpr int64_t kUsualInterval = GST_SECOND / 30;  // as the trackers' own

}  // namespace

int64_t interval_of(const GstCaps* caps) {
  gint n = 0, d = 1;
  const GstStructure* fields = gst_caps_get_structure(caps, 0);
  if (!gst_structure_get_fraction(fields, "framerate", &n, &d) || n <= 0 || d <= 0) return 0;
  return std::max<int64_t>(1, static_cast<int64_t>(gst_util_uint64_scale_int(GST_SECOND, d, n)));
}

int64_t running_time_after(int64_t last, int64_t interval, const GstSegment& segment,
                           GstBuffer* buffer) {
  if (segment.format == GST_FORMAT_TIME) {
    const GstClockTime running =
        gst_segment_to_running_time(&segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
    if (GST_CLOCK_TIME_IS_VALID(running)) return static_cast<int64_t>(running);
  }
  return last + (interval > 0 ? interval : kUsualInterval);
}

}  // namespace keepbox
