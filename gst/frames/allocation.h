// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory for frames that two neighbours get.
#pragma once

#include <gst/gst.h>

#include <utility>

namespace keepbox {

/// The answer of one neighbour to an allocation query.
struct Allocation {
  explicit Allocation(GstCaps* caps) : query(gst_query_new_allocation(caps, FALSE)) {}
  ~Allocation() { gst_query_unref(query); }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  GstAllocationParams params() const {
    GstAllocationParams out{};
    if (gst_query_get_n_allocation_params(query) > 0)
      gst_query_parse_nth_allocation_param(query, 0, nullptr, &out);
    return out;
  }
  std::pair<guint, guint> pool() const {  // bytes, buffers
    guint size = 0, min_buffers = 0;
    if (gst_query_get_n_allocation_pools(query) > 0)
      gst_query_parse_nth_allocation_pool(query, 0, nullptr, &size, &min_buffers, nullptr);
    return {size, min_buffers};
  }
  GstQuery* query;
};

/// Answers a query with what both neighbours support: common metas, the stricter alignment, and
/// buffers for both, since the full frame is kept while its copy is scaled. Neither pool is used,
/// because its memory also goes to the other neighbour.
void combine(GstQuery* query, const Allocation& a, const Allocation& b);

}  // namespace keepbox
