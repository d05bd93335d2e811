// SPDX-License-Identifier: LGPL-2.1-or-later
// Combines the answers of two neighbours.
#include "gst/frames/allocation.h"

#include <algorithm>

namespace keepbox {

void combine(GstQuery* query, const Allocation& a, const Allocation& b) {
  for (guint i = 0; i < gst_query_get_n_allocation_metas(a.query); ++i) {
    const GstStructure* params = nullptr;
    const GType api = gst_query_parse_nth_allocation_meta(a.query, i, &params);
    if (gst_query_find_allocation_meta(b.query, api, nullptr))
      gst_query_add_allocation_meta(query, api, params);
  }
  GstAllocationParams params = a.params();
  const GstAllocationParams other = b.params();
  params.align = std::max(params.align, other.align);
  params.prefix = std::max(params.prefix, other.prefix);
  params.padding = std::max(params.padding, other.padding);
  gst_query_add_allocation_param(query, nullptr, &params);
  const auto [size, min_buffers] = a.pool();
  const auto [other_size, other_min] = b.pool();
  gst_query_add_allocation_pool(query, nullptr, std::max(size, other_size),
                                min_buffers + other_min + 1, 0);
}

}  // namespace keepbox
