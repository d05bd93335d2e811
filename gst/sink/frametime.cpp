// SPDX-License-Identifier: LGPL-2.1-or-later
// Times from the segment, GstVideoTimeCodeMeta and GstReferenceTimestampMeta.
#include "gst/sink/frametime.h"

#include <gst/video/video.h>

namespace keepbox {

std::optional<uint64_t> stream_time(const GstSegment& segment, GstBuffer* buffer) {
  const GstClockTime pts = GST_BUFFER_PTS(buffer);
  if (segment.format != GST_FORMAT_TIME || !GST_CLOCK_TIME_IS_VALID(pts)) return {};
  // gst_segment_to_stream_time() rejects frames that begin before the segment.
  guint64 time = 0;
  if (gst_segment_to_stream_time_full(&segment, GST_FORMAT_TIME, pts, &time) != 1) return {};
  return time;
}

std::optional<uint64_t> running_time(const GstSegment& segment, GstBuffer* buffer) {
  if (segment.format != GST_FORMAT_TIME) return {};
  const GstClockTime time =
      gst_segment_to_running_time(&segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
  if (!GST_CLOCK_TIME_IS_VALID(time)) return {};
  return time;
}

std::string iso_time(GDateTime* time, WallTimeFormat format) {
  g_autoptr(GDateTime) taken = time;
  g_autoptr(GDateTime) shown = format.utc ? g_date_time_to_utc(taken) : g_date_time_to_local(taken);
  g_autofree gchar* seconds = g_date_time_format(shown, "%Y-%m-%dT%H:%M:%S.%f");
  g_autofree gchar* zone = g_date_time_format(shown, format.utc ? "Z" : "%:z");
  std::string out = seconds;
  if (!format.microseconds) out.resize(out.size() - 3);
  return out + zone;
}

GDateTime* time_of_day(GstBuffer* buffer) {
  const GstVideoTimeCodeMeta* meta = gst_buffer_get_video_time_code_meta(buffer);
  if (meta == nullptr || meta->tc.config.latest_daily_jam == nullptr) return nullptr;
  return gst_video_time_code_to_date_time(&meta->tc);
}

std::optional<uint64_t> sender_time(GstBuffer* buffer) {
  constexpr guint64 kFrom1900To1970 = G_GUINT64_CONSTANT(2208988800) * GST_SECOND;
  static GstStaticCaps ntp = GST_STATIC_CAPS("timestamp/x-ntp");
  g_autoptr(GstCaps) caps = gst_static_caps_get(&ntp);
  const GstReferenceTimestampMeta* meta = gst_buffer_get_reference_timestamp_meta(buffer, caps);
  if (meta == nullptr || !GST_CLOCK_TIME_IS_VALID(meta->timestamp) ||
      meta->timestamp < kFrom1900To1970)
    return {};
  return meta->timestamp - kFrom1900To1970;
}

}  // namespace keepbox
