// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts the bytes of saved frames in flight, and waits until there are fewer.
#pragma once

#include <gst/gst.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace keepbox {

/// Frames that are kept wherever their buffers go. Thread-safe.
class KeptFrames : public std::enable_shared_from_this<KeptFrames> {
 public:
  static constexpr size_t kMinFrames = 4;  // frames of any size: elements hold some back
  static constexpr uint64_t kDefaultLimit = uint64_t{1} << 28;  // bytes

  /// @param late time without a returned frame after which keep() calls its callback.
  explicit KeptFrames(std::chrono::milliseconds late = std::chrono::seconds(10)) : late_(late) {}

  /// Counts a frame for the lifetime of the returned object. Waits while other frames leave no
  /// room. @param late called if no frame comes back. If it returns true, the limit is raised by
  /// its own value until start() or set_limit(). Its argument is true before the first such time.
  /// @return nullptr while set_stopped(true).
  std::shared_ptr<const void> keep(uint64_t bytes, const std::function<bool(bool first)>& late);

  /// Resets the limit to the one that was set, and clears stopped.
  void start();
  /// Sets the maximum number of bytes; 0 means no limit.
  void set_limit(uint64_t bytes);
  uint64_t limit() const;
  /// Stops or resumes: while stopped, keep() neither waits nor keeps anything.
  void set_stopped(bool stopped);

 private:
  struct Slot;
  bool has_room(uint64_t bytes) const {
    return limit_ == 0 || frames_ < kMinFrames || bytes_ + bytes <= std::max(limit_, raised_limit_);
  }

  const std::chrono::milliseconds late_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t limit_ = kDefaultLimit, bytes_ = 0;
  uint64_t raised_limit_ = 0;  // the limit after frames were late
  size_t frames_ = 0;
  bool stopped_ = false;
};

// Memory for frames that two neighbours get.

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
