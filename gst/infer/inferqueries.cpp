// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads answers of neighbours and sets them again.
#include "gst/infer/inferqueries.h"

#include <gst/video/video.h>

namespace keepbox {

std::optional<bool> add_latency(GstPad* sink, GstQuery* query, GstClockTime own) {
  if (!gst_pad_peer_query(sink, query)) return std::nullopt;
  gboolean live = FALSE;
  GstClockTime min = 0, max = 0;
  gst_query_parse_latency(query, &live, &min, &max);
  if (GST_CLOCK_TIME_IS_VALID(max)) max += own;
  gst_query_set_latency(query, live, min + own, max);
  return live != FALSE;
}

void drop_crop_meta(GstQuery* query) {
  guint crop = 0;
  if (gst_query_find_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, &crop))
    gst_query_remove_nth_allocation_meta(query, crop);
}

void raise_pools(GstQuery* query, guint held) {
  for (guint i = 0; i < gst_query_get_n_allocation_pools(query); ++i) {
    GstBufferPool* pool = nullptr;
    guint size = 0, min = 0, max = 0;
    gst_query_parse_nth_allocation_pool(query, i, &pool, &size, &min, &max);
    gst_query_set_nth_allocation_pool(query, i, pool, size, min + held, max == 0 ? 0 : max + held);
    gst_clear_object(&pool);
  }
}

}  // namespace keepbox
